//! Functions with their types, and the special names of tables and thunks.

use super::node::{Node, NodeId, Part, Precedence};
use super::parser::{NameState, Parser};
use crate::base::short_text::ShortText;

/// Special names: letters, text, and what follows.
///
/// Source: Itanium C++ ABI, 5.1.4 Other Special Functions and Entities.
static SPECIAL_NAMES: [SpecialName; 14] = [
    special("TV", "vtable for ", Subject::Type),
    special("TT", "VTT for ", Subject::Type),
    special("TI", "typeinfo for ", Subject::Type),
    special("TS", "typeinfo name for ", Subject::Type),
    special("TA", "template parameter object for ", Subject::Argument),
    special("TW", "thread-local wrapper routine for ", Subject::Name),
    special("TH", "thread-local initialization routine for ", Subject::Name),
    special("Tc", "covariant return thunk to ", Subject::CovariantThunk),
    special("Th", "non-virtual thunk to ", Subject::Thunk),
    special("Tv", "virtual thunk to ", Subject::Thunk),
    special("GV", "guard variable for ", Subject::Name),
    special("GR", "reference temporary for ", Subject::Temporary),
    special("GTt", "transaction clone for ", Subject::Function),
    special("GTn", "transaction clone for ", Subject::Function),
];

type SpecialName = (ShortText<3>, ShortText<40>, Subject);

const fn special(code: &str, text: &str, subject: Subject) -> SpecialName {
    (ShortText::new(code), ShortText::new(text), subject)
}

/// Subject of a special name.
#[derive(Debug, Clone, Copy)]
enum Subject {
    Type,
    Name,
    Argument,
    /// A name, and the number of the temporary.
    Temporary,
    Function,
    /// A function after the offset that the last letter of the code begins.
    Thunk,
    /// A function after two offsets.
    CovariantThunk,
}

impl<'a> Parser<'a> {
    /// Parses a complete mangled name.
    pub fn mangled_name(&mut self) -> Option<NodeId> {
        self.expect("_Z")?;
        let id = self.encoding()?;
        if self.rest.is_empty() {
            return Some(id);
        }
        // Compilers append suffixes to the names of clones.
        let suffix = self.rest.starts_with('.').then(|| std::mem::take(&mut self.rest))?;
        let parts = vec![Part::Node(id), Part::Text(" ("), Part::Text(suffix), Part::Text(")")];
        Some(self.sequence(Precedence::Primary, parts))
    }

    /// Parses a function with its type, a variable, or a special name.
    pub fn encoding(&mut self) -> Option<NodeId> {
        // Template parameters of the name do not refer to arguments of an outer name.
        let outer = std::mem::take(&mut self.arguments);
        let id = if matches!(self.peek(0), b'G' | b'T') { self.special_name() } else { self.entity() };
        self.arguments = outer;
        id
    }

    fn ends_encoding(&self) -> bool {
        matches!(self.peek(0), 0 | b'E' | b'.' | b'_')
    }

    fn entity(&mut self) -> Option<NodeId> {
        let mut state = NameState { is_encoding: true, ..NameState::default() };
        let forward = self.forward.len();
        let name = self.name(&mut state)?;
        self.resolve_forward(forward)?;
        if self.ends_encoding() {
            return Some(name);
        }
        let mut constraints = Vec::new();
        if self.skip("Ua9enable_ifI") {
            let conditions = self.until_end(Self::constraint_argument)?;
            constraints = vec![Part::Text(" [enable_if:"), Part::List(conditions), Part::Text("]")];
        }
        let has_return_type = state.ends_with_arguments && !state.has_no_return_type;
        let returns = if has_return_type { Some(self.parse_type()?) } else { None };
        let mut parameters = Vec::new();
        if !self.skip("v") {
            while !self.ends_encoding() && self.peek(0) != b'Q' {
                let mut parameter = self.parse_type()?;
                if state.has_explicit_object && parameters.is_empty() {
                    let parts = vec![Part::Text("this "), Part::Node(parameter)];
                    parameter = self.sequence(Precedence::Primary, parts);
                }
                parameters.push(parameter);
            }
        }
        constraints.extend(self.requires_clause()?);
        Some(self.add(Node::Function { returns, name, parameters, qualifiers: state.qualifiers, constraints }))
    }

    fn constraint_argument(&mut self) -> Option<NodeId> {
        self.expect("X")?;
        let expression = self.expression()?;
        self.expect("E")?;
        Some(expression)
    }

    fn special_name(&mut self) -> Option<NodeId> {
        if self.skip("TC") {
            return self.construction_vtable();
        }
        let (code, text, subject) = SPECIAL_NAMES.iter().find(|(code, ..)| code.begins(self.rest))?;
        self.take(if matches!(subject, Subject::Thunk) { 1 } else { code.len() })?;
        let id = match subject {
            Subject::Type => self.parse_type()?,
            Subject::Name => self.name(&mut NameState::default())?,
            Subject::Argument => self.template_argument()?,
            Subject::Temporary => {
                let name = self.name(&mut NameState::default())?;
                // Old compilers omit the number.
                if !self.rest.is_empty() {
                    self.sequence_id()?;
                }
                name
            }
            Subject::Function => self.encoding()?,
            Subject::Thunk => {
                self.call_offset()?;
                self.encoding()?
            }
            Subject::CovariantThunk => {
                self.call_offset()?;
                self.call_offset()?;
                self.encoding()?
            }
        };
        Some(self.sequence(Precedence::Primary, vec![Part::Text(text), Part::Node(id)]))
    }

    fn construction_vtable(&mut self) -> Option<NodeId> {
        let class = self.parse_type()?;
        self.number()?;
        self.expect("_")?;
        let base = self.parse_type()?;
        let parts =
            vec![Part::Text("construction vtable for "), Part::Node(base), Part::Text("-in-"), Part::Node(class)];
        Some(self.sequence(Precedence::Primary, parts))
    }

    fn call_offset(&mut self) -> Option<()> {
        let numbers = if self.skip("h") { 1 } else { self.expect("v").map(|()| 2)? };
        for _ in 0..numbers {
            self.digits(true);
            self.expect("_")?;
        }
        Some(())
    }
}
