//! Names of functions, variables and types.

use super::node::{Node, NodeId, Part, Precedence, StandardName};
use super::operators::{Form, Operator};
use super::parser::{NameState, Parser};

impl<'a> Parser<'a> {
    /// Parses a name.
    pub fn name(&mut self, state: &mut NameState) -> Option<NodeId> {
        match self.peek(0) {
            b'N' => self.nested_name(state),
            b'Z' => self.local_name(state),
            b'S' if self.peek(1) != b't' => {
                let id = self.substitution()?;
                if self.peek(0) != b'I' {
                    return None;
                }
                self.named_with_arguments(id, state)
            }
            _ => {
                let id = self.unscoped_name(state)?;
                if self.peek(0) != b'I' {
                    return Some(id);
                }
                self.substitutable(id);
                self.named_with_arguments(id, state)
            }
        }
    }

    /// Parses the template arguments of a name. The rest of its encoding refers to these arguments.
    fn named_with_arguments(&mut self, name: NodeId, state: &mut NameState) -> Option<NodeId> {
        let arguments = self.template_arguments(state.is_encoding)?;
        state.ends_with_arguments = true;
        Some(self.add(Node::WithArguments(name, arguments)))
    }

    fn unscoped_name(&mut self, state: &mut NameState) -> Option<NodeId> {
        if !self.skip("St") {
            return self.unqualified_name(state, None);
        }
        let standard = self.text("std");
        let name = self.unqualified_name(state, None)?;
        Some(self.add(Node::Nested(standard, name)))
    }

    fn nested_name(&mut self, state: &mut NameState) -> Option<NodeId> {
        self.expect("N")?;
        if self.skip("H") {
            state.has_explicit_object = true;
        } else {
            state.qualifiers = self.qualifiers();
            state.qualifiers.reference = self.reference_qualifier();
        }
        let mut scope: Option<NodeId> = None;
        while !self.skip("E") {
            state.ends_with_arguments = false;
            scope = Some(match (self.peek(0), scope) {
                (b'T', None) => self.template_parameter()?,
                (b'I', Some(template)) if !matches!(self.node(template), Node::WithArguments(..)) => {
                    self.named_with_arguments(template, state)?
                }
                (b'D', None) if matches!(self.peek(1), b't' | b'T') => self.decltype()?,
                (b'S', None) => {
                    // Substitutions are not candidates again.
                    scope = Some(if self.skip("St") { self.text("std") } else { self.substitution()? });
                    continue;
                }
                (b'T' | b'I' | b'S', _) => return None,
                (_, scope) => self.unqualified_name(state, scope)?,
            });
            self.substitutable(scope?);
            // The scope of a lambda in the initializer of a data member.
            self.skip("M");
        }
        // The whole name is a candidate only as a type.
        self.substitutions.pop()?;
        scope
    }

    fn local_name(&mut self, state: &mut NameState) -> Option<NodeId> {
        self.expect("Z")?;
        let function = self.nested(Self::encoding)?;
        self.expect("E")?;
        let entity = if self.skip("s") {
            self.text("string literal")
        } else {
            if self.skip("d") {
                self.digits(true);
                self.expect("_")?;
            }
            self.name(state)?
        };
        self.skip_discriminator();
        Some(self.add(Node::Nested(function, entity)))
    }

    /// Parses a name without a scope. If `scope` is given, the name is in it.
    fn unqualified_name(&mut self, state: &mut NameState, scope: Option<NodeId>) -> Option<NodeId> {
        // Names of friends and of internal linkage print like others.
        let is_friend = self.skip("F");
        self.skip("L");
        let name = match (self.peek(0), self.peek(1)) {
            (b'1'..=b'9', _) => self.source_name()?,
            (b'U', _) => self.unnamed_type()?,
            (b'D', b'C') => {
                self.take(2)?;
                let names = self.until_end(Self::source_name)?;
                let parts = vec![Part::Text("["), Part::List(names), Part::Text("]")];
                self.sequence(Precedence::Primary, parts)
            }
            (b'C' | b'D', _) => return self.constructor(state, scope?),
            _ => self.operator_name(state)?,
        };
        let name = self.abi_tags(name)?;
        let Some(scope) = scope else { return Some(name) };
        if is_friend {
            let parts = vec![Part::Node(scope), Part::Text("::friend "), Part::Node(name)];
            return Some(self.sequence(Precedence::Primary, parts));
        }
        Some(self.add(Node::Nested(scope, name)))
    }

    /// Parses an identifier with its length.
    pub fn source_name(&mut self) -> Option<NodeId> {
        let size = self.number()?;
        let name = self.take(size)?;
        if name.is_empty() {
            return None;
        }
        Some(self.text(if name.starts_with("_GLOBAL__N") { "(anonymous namespace)" } else { name }))
    }

    /// Parses the ABI tags of a name.
    pub fn abi_tags(&mut self, mut name: NodeId) -> Option<NodeId> {
        while self.skip("B") {
            let size = self.number()?;
            let tag = self.take(size)?;
            name = self.add(Node::Tagged(name, tag));
        }
        Some(name)
    }

    fn constructor(&mut self, state: &mut NameState, scope: NodeId) -> Option<NodeId> {
        let class = match *self.node(scope) {
            Node::Standard(StandardName { alias_of: Some((template, arguments)), .. }) => {
                let [standard, template, arguments] = ["std", *template, *arguments].map(|text| self.text(text));
                let template = self.add(Node::Nested(standard, template));
                self.add(Node::WithArguments(template, arguments))
            }
            _ => scope,
        };
        let is_destructor = self.skip("D");
        let mut inherited = false;
        if !is_destructor {
            self.expect("C")?;
            inherited = self.skip("I");
        }
        let kinds = if is_destructor { "01245" } else { "12345" };
        self.take(1).filter(|kind| kinds.contains(kind))?;
        if inherited {
            self.name(state)?;
        }
        state.has_no_return_type = true;
        let base = self.base_name(class);
        let parts = if is_destructor { vec![Part::Text("~"), Part::Node(base)] } else { vec![Part::Node(base)] };
        let name = self.sequence(Precedence::Primary, parts);
        let name = self.abi_tags(name)?;
        Some(self.add(Node::Nested(class, name)))
    }

    /// Parses the name of an operator function, a conversion or a literal.
    pub fn operator_name(&mut self, state: &mut NameState) -> Option<NodeId> {
        let operator = self.operator();
        let parts = match operator {
            Some(operator) if operator.form == Form::Conversion => {
                let outer = (self.takes_arguments, self.permits_forward);
                self.takes_arguments = false;
                self.permits_forward |= state.is_encoding;
                let target = self.parse_type();
                (self.takes_arguments, self.permits_forward) = outer;
                state.has_no_return_type = true;
                vec![Part::Text("operator "), Part::Node(target?)]
            }
            Some(operator) if operator.is_overloadable() => {
                let is_word = operator.token.starts_with(|c: char| c.is_ascii_alphabetic());
                vec![Part::Text(if is_word { "operator " } else { "operator" }), Part::Text(&operator.token)]
            }
            Some(_) => return None,
            None if self.skip("li") => vec![Part::Text("operator\"\" "), Part::Node(self.source_name()?)],
            None => {
                self.expect("v")?;
                self.take(1).filter(|arity| arity.starts_with(|c: char| c.is_ascii_digit()))?;
                state.has_no_return_type = true;
                vec![Part::Text("operator "), Part::Node(self.source_name()?)]
            }
        };
        Some(self.sequence(Precedence::Primary, parts))
    }

    /// Takes an operator, if the rest begins with one.
    pub fn operator(&mut self) -> Option<&'static Operator> {
        let operator = Operator::find(self.rest.get(..2)?)?;
        self.take(2)?;
        Some(operator)
    }
}
