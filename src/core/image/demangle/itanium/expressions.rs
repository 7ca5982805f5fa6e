//! Expressions in template arguments and in the types of functions.

use super::node::{Node, NodeId, Part, Precedence};
use super::operators::{Form, Operator};
use super::parser::{NameState, Parser};

use Precedence::{Any, Primary};

impl<'a> Parser<'a> {
    pub fn expression(&mut self) -> Option<NodeId> {
        self.nested(Self::expression_of_first_letters)
    }

    fn expression_of_first_letters(&mut self) -> Option<NodeId> {
        let is_global = self.skip("gs");
        if let Some(operator) = self.operator() {
            return self.operation(operator, is_global);
        }
        match (self.peek(0), self.peek(1)) {
            (b'L', _) => self.literal(),
            (b'T', _) => self.template_parameter(),
            (b'f', b'p' | b'0'..=b'9') => self.function_parameter(),
            (b'f', b'L') if self.peek(2).is_ascii_digit() => self.function_parameter(),
            (b'f', _) => self.fold(),
            (b'u', _) => self.vendor_expression(),
            _ => match self.peek_two() {
                "il" | "tl" => self.initializer_list(),
                "mc" => self.member_pointer_conversion(),
                "so" => self.subobject(),
                "sp" => {
                    self.take(2)?;
                    let pattern = self.expression()?;
                    Some(self.add(Node::Expansion(pattern)))
                }
                "sZ" | "sP" => self.pack_size(),
                "tr" => {
                    self.take(2)?;
                    Some(self.text("throw"))
                }
                "tw" => {
                    self.take(2)?;
                    let operand = self.expression()?;
                    Some(self.sequence(Primary, vec![Part::Text("throw "), Part::Node(operand)]))
                }
                "rq" | "rQ" => self.requires_expression(),
                _ => self.unresolved_name(is_global),
            },
        }
    }

    fn vendor_expression(&mut self) -> Option<NodeId> {
        self.take(1)?;
        let name = self.source_name()?;
        let arguments = self.until_end(Self::template_argument)?;
        Some(self.call(name, arguments))
    }

    fn peek_two(&self) -> &'a str {
        self.rest.get(..2).unwrap_or_default()
    }

    fn operation(&mut self, operator: &'static Operator, is_global: bool) -> Option<NodeId> {
        let token: &str = &operator.token;
        let precedence = operator.precedence;
        let parts = match operator.form {
            Form::Binary => {
                let left = self.expression()?;
                let right = self.expression()?;
                return Some(self.add(Node::Binary(token, precedence, left, right)));
            }
            Form::Call => {
                let function = self.expression()?;
                let arguments = self.until_end(Self::expression)?;
                return Some(self.call(function, arguments));
            }
            // The prefix forms of `++` and `--` have a `_`.
            Form::Postfix if !self.skip("_") => {
                vec![Part::Operand(self.expression()?, precedence, true), Part::Text(token)]
            }
            Form::Prefix | Form::Postfix => {
                vec![Part::Text(token), Part::Operand(self.expression()?, precedence, false)]
            }
            Form::Member => {
                let object = self.expression()?;
                let member = self.expression()?;
                let member = Part::Operand(member, precedence, false);
                vec![Part::Operand(object, precedence, true), Part::Text(token), member]
            }
            Form::Subscript => {
                let base = self.expression()?;
                let index = self.expression()?;
                let base = Part::Operand(base, precedence, false);
                vec![base, Part::Text("["), Part::Operand(index, Any, false), Part::Text("]")]
            }
            Form::Conversion => self.conversion()?,
            Form::NamedCast => self.named_cast(token)?,
            Form::Conditional => self.conditional()?,
            Form::New => self.allocation(token, is_global)?,
            Form::Delete => {
                let global = Part::Text(if is_global { "::" } else { "" });
                vec![global, Part::Text(token), Part::Text(" "), Part::Node(self.expression()?)]
            }
            Form::OfType => vec![Part::Text(token), Part::Parentheses(vec![Part::Node(self.parse_type()?)])],
            Form::OfExpression => vec![Part::Text(token), Part::Parentheses(vec![Part::Node(self.expression()?)])],
        };
        Some(self.sequence(precedence, parts))
    }

    fn named_cast(&mut self, token: &'static str) -> Option<Vec<Part<'a>>> {
        let target = self.parse_type()?;
        let operand = self.expression()?;
        let operand = Part::Parentheses(vec![Part::Operand(operand, Any, false)]);
        Some(vec![Part::Text(token), Part::Angles(vec![Part::Node(target)]), operand])
    }

    fn conditional(&mut self) -> Option<Vec<Part<'a>>> {
        let [condition, yes, no] = [self.expression()?, self.expression()?, self.expression()?];
        Some(vec![
            Part::Operand(condition, Precedence::Conditional, false),
            Part::Text(" ? "),
            Part::Operand(yes, Any, false),
            Part::Text(" : "),
            Part::Operand(no, Precedence::Assignment, true),
        ])
    }

    fn call(&mut self, function: NodeId, arguments: Vec<NodeId>) -> NodeId {
        let arguments = Part::Parentheses(vec![Part::List(arguments)]);
        self.sequence(Precedence::Postfix, vec![Part::Node(function), arguments])
    }

    /// Parses `cv`: a type, and an expression or several.
    fn conversion(&mut self) -> Option<Vec<Part<'a>>> {
        let takes_arguments = std::mem::replace(&mut self.takes_arguments, false);
        let target = self.parse_type();
        self.takes_arguments = takes_arguments;
        let operands = if self.skip("_") { self.until_end(Self::expression)? } else { vec![self.expression()?] };
        Some(vec![Part::Parentheses(vec![Part::Node(target?)]), Part::Parentheses(vec![Part::List(operands)])])
    }

    fn allocation(&mut self, token: &'static str, is_global: bool) -> Option<Vec<Part<'a>>> {
        let mut parts = vec![Part::Text(if is_global { "::" } else { "" }), Part::Text(token)];
        let mut placement = Vec::new();
        while !self.skip("_") {
            placement.push(self.expression()?);
        }
        if !placement.is_empty() {
            parts.push(Part::Parentheses(vec![Part::List(placement)]));
        }
        parts.extend([Part::Text(" "), Part::Node(self.parse_type()?)]);
        let initializer = if self.skip("pi") { self.until_end(Self::expression)? } else { Vec::new() };
        if initializer.is_empty() {
            self.skip("E");
        } else {
            parts.push(Part::Parentheses(vec![Part::List(initializer)]));
        }
        Some(parts)
    }

    /// Parses a parameter of a function.
    fn function_parameter(&mut self) -> Option<NodeId> {
        if self.skip("fpT") {
            return Some(self.text("this"));
        }
        if self.skip("fL") {
            self.digits(false);
            self.expect("p")?;
        } else {
            self.expect("fp")?;
        }
        self.qualifiers();
        let number = self.digits(false);
        self.expect("_")?;
        Some(self.sequence(Primary, vec![Part::Text("fp"), Part::Text(number)]))
    }

    /// Parses a fold expression.
    fn fold(&mut self) -> Option<NodeId> {
        let kind = self.take(2)?;
        let (is_left, has_start) = match kind {
            "fl" => (true, false),
            "fr" => (false, false),
            "fL" => (true, true),
            "fR" => (false, true),
            _ => return None,
        };
        let operator = self.operator().filter(|it| matches!(it.form, Form::Binary | Form::Member))?;
        let mut pack = self.expression()?;
        let mut start = if has_start { Some(self.expression()?) } else { None };
        if let (true, Some(start)) = (is_left, &mut start) {
            std::mem::swap(start, &mut pack);
        }
        let expansion = self.add(Node::Expansion(pack));
        let pack = Part::Parentheses(vec![Part::Node(expansion)]);
        let start = start.map(|start| Part::Operand(start, Precedence::Cast, true));
        let (before, after) = if is_left { (start, Some(pack)) } else { (Some(pack), start) };
        let token = || [Part::Text(" "), Part::Text(&operator.token), Part::Text(" ")];
        let mut parts = Vec::new();
        if let Some(before) = before {
            parts.push(before);
            parts.extend(token());
        }
        parts.push(Part::Text("..."));
        if let Some(after) = after {
            parts.extend(token());
            parts.push(after);
        }
        Some(self.sequence(Primary, vec![Part::Parentheses(parts)]))
    }

    fn initializer_list(&mut self) -> Option<NodeId> {
        let mut parts = Vec::new();
        if self.take(2)? == "tl" {
            parts.push(Part::Node(self.parse_type()?));
        }
        let items = self.until_end(Self::braced)?;
        parts.extend([Part::Text("{"), Part::List(items), Part::Text("}")]);
        Some(self.sequence(Primary, parts))
    }

    /// Parses an item of an initializer list, which may name its member.
    fn braced(&mut self) -> Option<NodeId> {
        let designator = match self.peek_two() {
            "di" => {
                self.take(2)?;
                vec![Part::Text("."), Part::Node(self.source_name()?)]
            }
            "dx" => {
                self.take(2)?;
                vec![Part::Text("["), Part::Node(self.expression()?), Part::Text("]")]
            }
            "dX" => {
                self.take(2)?;
                let first = self.expression()?;
                let last = self.expression()?;
                vec![Part::Text("["), Part::Node(first), Part::Text(" ... "), Part::Node(last), Part::Text("]")]
            }
            _ => return self.expression(),
        };
        let is_nested = matches!(self.peek_two(), "di" | "dx" | "dX");
        let value = self.nested(Self::braced)?;
        let between = if is_nested { "" } else { " = " };
        let parts = [designator, vec![Part::Text(between), Part::Node(value)]].concat();
        Some(self.sequence(Primary, parts))
    }

    fn member_pointer_conversion(&mut self) -> Option<NodeId> {
        self.take(2)?;
        let target = self.parse_type()?;
        let operand = self.expression()?;
        self.digits(true);
        self.expect("E")?;
        let parts = [target, operand].map(|id| Part::Parentheses(vec![Part::Node(id)]));
        Some(self.sequence(Primary, parts.into()))
    }

    fn subobject(&mut self) -> Option<NodeId> {
        self.take(2)?;
        let class = self.parse_type()?;
        let object = self.expression()?;
        let offset = self.digits(true);
        while self.skip("_") {
            self.digits(false);
        }
        self.skip("p");
        self.expect("E")?;
        let offset = if offset.is_empty() { "0" } else { offset };
        let sign = if offset.starts_with('n') { "-" } else { "" };
        let place = [Part::Text(" at offset "), Part::Text(sign), Part::Text(offset.trim_start_matches('n'))];
        let mut parts = vec![Part::Node(object), Part::Text(".<"), Part::Node(class)];
        parts.extend(place);
        parts.push(Part::Text(">"));
        Some(self.sequence(Primary, parts))
    }

    /// Parses `sizeof...` of a pack, or of the arguments that a pack consists of.
    fn pack_size(&mut self) -> Option<NodeId> {
        let operand = match self.take(2)? {
            "sP" => Part::List(self.until_end(Self::template_argument)?),
            _ if self.peek(0) == b'T' => {
                let pack = self.template_parameter()?;
                let expansion = self.add(Node::Expansion(pack));
                return Some(self.size_of("sizeof...", Part::Node(expansion)));
            }
            _ => Part::Node(self.function_parameter()?),
        };
        Some(self.size_of("sizeof... ", operand))
    }

    fn size_of(&mut self, text: &'static str, operand: Part<'a>) -> NodeId {
        self.sequence(Primary, vec![Part::Text(text), Part::Parentheses(vec![operand])])
    }

    /// Parses a `requires` expression.
    fn requires_expression(&mut self) -> Option<NodeId> {
        let mut parts = vec![Part::Text("requires")];
        if self.take(2)? == "rQ" {
            let mut parameters = Vec::new();
            while !self.skip("_") {
                parameters.push(self.parse_type()?);
            }
            parts.extend([Part::Text(" "), Part::Parentheses(vec![Part::List(parameters)])]);
        }
        parts.push(Part::Text(" {"));
        while !self.skip("E") {
            self.requirement(&mut parts)?;
        }
        parts.push(Part::Text(" }"));
        Some(self.sequence(Primary, parts))
    }

    fn requirement(&mut self, parts: &mut Vec<Part<'a>>) -> Option<()> {
        match self.take(1)? {
            "X" => {
                let expression = Part::Node(self.expression()?);
                let noexcept = self.skip("N").then_some(Part::Text(" noexcept"));
                let constraint = if self.skip("R") { Some(self.name(&mut NameState::default())?) } else { None };
                if noexcept.is_some() || constraint.is_some() {
                    parts.extend([Part::Text(" {"), expression, Part::Text("}")]);
                } else {
                    parts.extend([Part::Text(" "), expression]);
                }
                parts.extend(noexcept);
                parts.extend(constraint.into_iter().flat_map(|id| [Part::Text(" -> "), Part::Node(id)]));
            }
            "T" => parts.extend([Part::Text(" typename "), Part::Node(self.parse_type()?)]),
            "Q" => parts.extend([Part::Text(" requires "), Part::Node(self.expression()?)]),
            _ => return None,
        }
        parts.push(Part::Text(";"));
        Some(())
    }
}
