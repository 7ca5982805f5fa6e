//! Rows, functions and texts that are collected from debug information for lookups by address.

use std::collections::HashMap;

use super::budget::{DwarfError, ParseBudget};

/// A position in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    pub file: Option<u32>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

/// Index of a function in the list of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScopeNumber(u32);

/// A function, or a call of one that was inlined.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// Mangled name.
    pub name: Option<u32>,
    /// Position of the call, if it was inlined.
    pub call: Option<Position>,
    /// The function that it was inlined into.
    pub parent: Option<ScopeNumber>,
}

/// Row of a line table: the source position of the instructions from its address to the next row.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub address: u64,
    pub position: Position,
    /// The inlined function that the instructions belong to, if the line table states it.
    pub scope: Option<ScopeNumber>,
}

/// Rows in the order of their addresses.
#[derive(Debug)]
pub struct Sequence {
    pub start: u64,
    pub end: u64,
    pub rows: Vec<Row>,
}

/// What was collected.
#[derive(Debug, Default)]
pub struct Collected {
    pub sequences: Vec<Sequence>,
    pub texts: Vec<String>,
    scopes: Vec<Scope>,
    /// Numbers of the texts.
    numbers: HashMap<String, u32>,
}

impl Collected {
    /// Number of a text, which is kept once.
    pub fn number(&mut self, text: String) -> u32 {
        let next = self.texts.len() as u32;
        let texts = &mut self.texts;
        *self.numbers.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            next
        })
    }

    /// Adds the rows of a sequence that ends at an address. Rows of hostile files may go back; such a sequence is left
    /// out.
    pub fn add_sequence(&mut self, end: u64, rows: Vec<Row>, budget: ParseBudget<'_>) -> Result<(), DwarfError> {
        if let Some(start) = rows.first().map(|row| row.address)
            && start < end
            && rows.is_sorted_by_key(|row| row.address)
        {
            budget.charge_records(rows.len(), size_of::<Row>())?;
            self.sequences.push(Sequence { start, end, rows });
        }
        Ok(())
    }

    pub fn add_scope(&mut self, scope: Scope, budget: ParseBudget<'_>) -> Result<ScopeNumber, DwarfError> {
        budget.charge_records(1, size_of::<Scope>())?;
        let number = ScopeNumber(self.scopes.len() as u32);
        self.scopes.push(scope);
        Ok(number)
    }

    pub fn scope(&self, number: ScopeNumber) -> Option<&Scope> {
        self.scopes.get(number.0 as usize)
    }
}
