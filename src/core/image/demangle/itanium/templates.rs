//! Template arguments, declarations of template parameters, lambdas and other unnamed types.

use super::node::{Node, NodeId, Part, Precedence};
use super::parser::{NameState, Parser};

/// Prefixes of the names of the template parameters of a lambda.
const TYPE_PARAMETER: &str = "$T";
const VALUE_PARAMETER: &str = "$N";
const TEMPLATE_PARAMETER: &str = "$TT";

impl<'a> Parser<'a> {
    /// Parses template arguments. Template parameters refer to them from now on if they belong to an encoding.
    pub fn template_arguments(&mut self, are_of_encoding: bool) -> Option<NodeId> {
        self.expect("I")?;
        if are_of_encoding {
            self.arguments = vec![Vec::new()];
        }
        let mut arguments = Vec::new();
        while !self.skip("E") {
            arguments.push(if are_of_encoding { self.argument_of_encoding()? } else { self.template_argument()? });
            // Constraints are not printed: they are the same for every use of the template.
            if self.skip("Q") {
                self.expression()?;
                self.expect("E")?;
                break;
            }
        }
        Some(self.sequence(Precedence::Primary, vec![Part::Angles(vec![Part::List(arguments)])]))
    }

    /// Parses a template argument that template parameters refer to. Arguments do not refer to one another, but the
    /// declarations of their parameters do.
    fn argument_of_encoding(&mut self) -> Option<NodeId> {
        let outer = std::mem::replace(&mut self.declared, std::mem::take(&mut self.arguments));
        let argument = self.template_argument();
        self.arguments = std::mem::replace(&mut self.declared, outer);
        let argument = argument?;
        let parameter = match self.node(argument) {
            Node::Pack(elements) => Node::PackParameter(elements.clone()),
            other => other.clone(),
        };
        let parameter = self.add(parameter);
        self.arguments.first_mut()?.push(parameter);
        Some(argument)
    }

    pub fn template_argument(&mut self) -> Option<NodeId> {
        self.nested(|parser| match parser.peek(0) {
            b'X' => {
                parser.take(1)?;
                let expression = parser.expression()?;
                parser.expect("E")?;
                Some(expression)
            }
            b'J' => {
                parser.take(1)?;
                let elements = parser.until_end(Self::template_argument)?;
                Some(parser.add(Node::Pack(elements)))
            }
            b'L' => parser.literal(),
            b'T' if parser.declares_parameter() => {
                // The declaration of the parameter, if the argument alone is ambiguous.
                std::mem::swap(&mut parser.arguments, &mut parser.declared);
                let declaration = parser.parameter_declaration(&mut Vec::new());
                std::mem::swap(&mut parser.arguments, &mut parser.declared);
                declaration?;
                parser.template_argument()
            }
            _ => parser.parse_type(),
        })
    }

    /// True if a declaration of a template parameter follows.
    pub fn declares_parameter(&self) -> bool {
        self.peek(0) == b'T' && b"yptnk".contains(&self.peek(1))
    }

    /// Parses the declaration of a template parameter, and adds its name to `names`.
    pub fn parameter_declaration(&mut self, names: &mut Vec<NodeId>) -> Option<NodeId> {
        self.nested(|parser| match parser.take(2)? {
            "Ty" => {
                let before = parser.text("typename ");
                parser.declaration(before, TYPE_PARAMETER, names)
            }
            "Tk" => {
                let concept = parser.name(&mut NameState::default())?;
                let parts = vec![Part::Node(concept), Part::Text(" ")];
                let before = parser.sequence(Precedence::Primary, parts);
                parser.declaration(before, TYPE_PARAMETER, names)
            }
            "Tn" => {
                let id = parser.parse_type()?;
                let before = parser.sequence(Precedence::Primary, vec![Part::Node(id), Part::Text(" ")]);
                parser.declaration(before, VALUE_PARAMETER, names)
            }
            "Tt" => {
                let parameters = parser.scoped_declarations()?;
                let angles = Part::Angles(vec![Part::List(parameters)]);
                let parts = vec![Part::Text("template"), angles, Part::Text(" typename ")];
                let before = parser.sequence(Precedence::Primary, parts);
                parser.declaration(before, TEMPLATE_PARAMETER, names)
            }
            "Tp" => {
                let declared = parser.parameter_declaration(names)?;
                let Node::Declaration(before, after) = *parser.node(declared) else { return None };
                let before = parser.sequence(Precedence::Primary, vec![Part::Node(before), Part::Text("...")]);
                Some(parser.add(Node::Declaration(before, after)))
            }
            _ => None,
        })
    }

    /// Parses the parameters of a template template parameter.
    fn scoped_declarations(&mut self) -> Option<Vec<NodeId>> {
        let mut parameters = Vec::new();
        let mut names = Vec::new();
        while !self.skip("E") {
            parameters.push(self.parameter_declaration(&mut names)?);
        }
        Some(parameters)
    }

    fn declaration(&mut self, before: NodeId, prefix: &'static str, names: &mut Vec<NodeId>) -> Option<NodeId> {
        let count = self.synthetic.entry(prefix).or_default();
        let number = *count;
        *count = number.checked_add(1)?;
        let name = self.add(Node::Synthetic(prefix, number));
        names.push(name);
        Some(self.add(Node::Declaration(before, name)))
    }

    /// Parses the name of an unnamed type, a lambda or a block.
    pub fn unnamed_type(&mut self) -> Option<NodeId> {
        if self.skip("Ut") {
            let count = self.digits(false);
            self.expect("_")?;
            let parts = vec![Part::Text("'unnamed"), Part::Text(count), Part::Text("'")];
            return Some(self.sequence(Precedence::Primary, parts));
        }
        if self.skip("Ub") {
            self.digits(false);
            self.expect("_")?;
            return Some(self.text("'block-literal'"));
        }
        self.expect("Ul")?;
        let mut declarator = self.lambda_declarator()?;
        let count = self.digits(false);
        self.expect("_")?;
        declarator.splice(0..0, [Part::Text("'lambda"), Part::Text(count), Part::Text("'")]);
        Some(self.sequence(Precedence::Primary, declarator))
    }

    /// Parses the signature of a lambda up to its `E`: template parameters, parameters and constraints.
    pub fn lambda_declarator(&mut self) -> Option<Vec<Part<'a>>> {
        let outer = (self.lambda_level.replace(self.arguments.len()), std::mem::take(&mut self.synthetic));
        let levels = self.arguments.len();
        let mut names = Vec::new();
        let mut declarations = Vec::new();
        let mut parts = Vec::new();
        while self.declares_parameter() {
            declarations.push(self.parameter_declaration(&mut names)?);
            self.arguments.truncate(levels);
            self.arguments.push(names.clone());
        }
        if !declarations.is_empty() {
            parts.push(Part::Angles(vec![Part::List(declarations)]));
        }
        parts.extend(self.requires_clause()?);
        let mut parameters = Vec::new();
        if !self.skip("v") {
            while !matches!(self.peek(0), b'E' | b'Q') {
                parameters.push(self.parse_type()?);
            }
        }
        parts.push(Part::Parentheses(vec![Part::List(parameters)]));
        parts.extend(self.requires_clause()?);
        self.expect("E")?;
        self.arguments.truncate(levels);
        (self.lambda_level, self.synthetic) = outer;
        Some(parts)
    }

    /// Parses an optional `requires` clause.
    pub fn requires_clause(&mut self) -> Option<Vec<Part<'a>>> {
        if !self.skip("Q") {
            return Some(Vec::new());
        }
        Some(vec![Part::Text(" requires "), Part::Node(self.expression()?)])
    }
}
