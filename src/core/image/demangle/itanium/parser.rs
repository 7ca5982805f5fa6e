//! The state of parsing a mangled name, and its smallest parts.
//!
//! The first letters of a production identify it, so each byte is read once. `None` is a name that does not follow the
//! grammar, or is nested too deeply.

use std::collections::BTreeMap;

use super::node::{Node, NodeId, Nodes, Part, Precedence, Qualifiers};
use crate::base::bytes::offset_of_rest;

/// Maximum nesting of types, expressions and functions in each other.
const MAX_DEPTH: usize = 128;

/// Parser of a mangled name.
pub struct Parser<'a> {
    pub rest: &'a str,
    pub nodes: Nodes<'a>,
    pub substitutions: Vec<NodeId>,
    /// Template arguments by level, outermost first, that template parameters refer to.
    pub arguments: Vec<Vec<NodeId>>,
    /// The arguments while one of them is parsed.
    pub declared: Vec<Vec<NodeId>>,
    /// Targets of the nodes [`Node::Forward`], as indices of template arguments until these are known.
    pub forward: Vec<ForwardReference>,
    /// Template parameters may precede their arguments: in the type of a conversion operator.
    pub permits_forward: bool,
    /// A template parameter may be followed by template arguments. Arguments after a conversion operator belong to the
    /// operator.
    pub takes_arguments: bool,
    /// Level of the parameters of the lambda whose signature is parsed.
    pub lambda_level: Option<usize>,
    /// Number of named type, value and template parameters of lambdas so far, by the prefix of their names.
    pub synthetic: BTreeMap<&'static str, usize>,
    /// Number of levels that may follow.
    levels_left: usize,
}

/// Reference to a template argument that follows.
#[derive(Debug, Clone, Copy)]
pub enum ForwardReference {
    Index(usize),
    Argument(NodeId),
}

/// Properties of the name of a function that determine how its type is mangled.
#[derive(Debug, Default)]
pub struct NameState {
    /// The name belongs to a function or variable, not to a type.
    pub is_encoding: bool,
    pub ends_with_arguments: bool,
    /// A constructor, destructor or conversion has no return type.
    pub has_no_return_type: bool,
    pub qualifiers: Qualifiers,
    pub has_explicit_object: bool,
}

impl<'a> Parser<'a> {
    pub fn new(mangled: &'a str) -> Self {
        Parser {
            rest: mangled,
            nodes: Nodes::default(),
            substitutions: Vec::new(),
            arguments: Vec::new(),
            declared: Vec::new(),
            forward: Vec::new(),
            permits_forward: false,
            takes_arguments: true,
            lambda_level: None,
            synthetic: BTreeMap::new(),
            levels_left: MAX_DEPTH,
        }
    }

    pub fn add(&mut self, node: Node<'a>) -> NodeId {
        self.nodes.add(node)
    }

    pub fn text(&mut self, text: &'a str) -> NodeId {
        self.add(Node::Text(text))
    }

    pub fn sequence(&mut self, precedence: Precedence, parts: Vec<Part<'a>>) -> NodeId {
        self.add(Node::Sequence(precedence, parts))
    }

    pub fn node(&self, id: NodeId) -> &Node<'a> {
        self.nodes.get(id)
    }

    /// Calls a function one level deeper.
    #[inline]
    pub fn nested<R>(&mut self, parse: impl FnOnce(&mut Self) -> Option<R>) -> Option<R> {
        let outer = self.levels_left;
        self.levels_left = outer.checked_sub(1)?;
        let result = parse(self);
        self.levels_left = outer;
        result
    }

    /// Byte at an offset; 0 beyond the end.
    pub fn peek(&self, offset: usize) -> u8 {
        self.rest.as_bytes().get(offset).copied().unwrap_or_default()
    }

    /// Skips a prefix, if the rest begins with it.
    pub fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    pub fn expect(&mut self, prefix: &str) -> Option<()> {
        self.skip(prefix).then_some(())
    }

    /// Takes bytes as text; `None` if they are not available or not whole characters.
    pub fn take(&mut self, size: usize) -> Option<&'a str> {
        let (text, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(text)
    }

    /// Takes decimal digits, none or more, after a minus sign `n` if that is allowed.
    pub fn digits(&mut self, allows_negative: bool) -> &'a str {
        let without_sign = if allows_negative { self.rest.strip_prefix('n') } else { None };
        let digits = without_sign.unwrap_or(self.rest);
        let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        let size = if after.len() == digits.len() { 0 } else { offset_of_rest(self.rest, after) };
        self.take(size).unwrap_or_default()
    }

    pub fn number(&mut self) -> Option<usize> {
        self.digits(false).parse().ok()
    }

    /// Parses a sequence number in base 36 up to `_`, which is 0 for no digits.
    pub fn sequence_id(&mut self) -> Option<usize> {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        let size = self.rest.bytes().take_while(is_digit).count();
        let digits = self.take(size)?;
        self.expect("_")?;
        if digits.is_empty() { Some(0) } else { usize::from_str_radix(digits, 36).ok()?.checked_add(1) }
    }

    /// Parses an optional number up to `_`. No number is 0, and a number `n` is `n + 1`.
    pub fn index(&mut self) -> Option<usize> {
        let index = if self.peek(0) == b'_' { 0 } else { self.number()?.checked_add(1)? };
        self.expect("_")?;
        Some(index)
    }

    /// Skips the discriminator of a local name, if there is one.
    pub fn skip_discriminator(&mut self) {
        let rest = self.rest;
        if self.skip("__") {
            if self.digits(false).is_empty() || !self.skip("_") {
                self.rest = rest;
            }
        } else if self.skip("_") {
            if self.peek(0).is_ascii_digit() {
                self.take(1);
            } else {
                self.rest = rest;
            }
        }
    }

    /// Parses items up to an `E`.
    pub fn until_end(&mut self, parse: impl Fn(&mut Self) -> Option<NodeId>) -> Option<Vec<NodeId>> {
        let mut items = Vec::new();
        while !self.skip("E") {
            items.push(parse(self)?);
        }
        Some(items)
    }

    /// Adds a candidate for substitution.
    pub fn substitutable(&mut self, id: NodeId) -> NodeId {
        self.substitutions.push(id);
        id
    }

    /// Parses `T_`, `T0_`, `TL0_1_`.
    pub fn template_parameter(&mut self) -> Option<NodeId> {
        self.expect("T")?;
        let level = if self.skip("L") { self.index()?.checked_add(1)? } else { 0 };
        let index = self.index()?;
        if self.permits_forward && level == 0 {
            let node = Node::Forward(self.forward.len());
            self.forward.push(ForwardReference::Index(index));
            return Some(self.add(node));
        }
        if let Some(argument) = self.arguments.get(level).and_then(|arguments| arguments.get(index)) {
            return Some(*argument);
        }
        // A parameter of a generic lambda that has no name in the source.
        let is_auto = self.lambda_level == Some(level) && level <= self.arguments.len();
        is_auto.then(|| self.text("auto"))
    }

    /// Replaces the forward references since `start` by the template arguments of the complete name.
    pub fn resolve_forward(&mut self, start: usize) -> Option<()> {
        for reference in self.forward.iter_mut().skip(start) {
            if let ForwardReference::Index(index) = *reference {
                *reference = ForwardReference::Argument(*self.arguments.first()?.get(index)?);
            }
        }
        Some(())
    }

    /// Name of a class as written in its constructors.
    pub fn base_name(&mut self, mut id: NodeId) -> NodeId {
        loop {
            id = match *self.node(id) {
                Node::WithArguments(name, _) | Node::Tagged(name, _) | Node::Nested(_, name) => name,
                Node::Standard(name) => return self.text(name.name),
                _ => return id,
            };
        }
    }
}
