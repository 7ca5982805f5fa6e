//! Types.

use super::node::{Node, NodeId, Part, Precedence, Qualifiers, ReferenceQualifier, STANDARD_NAMES};
use super::parser::{NameState, Parser};
use crate::base::short_text::ShortText;

/// Builtin types by their letter.
///
/// Source: Itanium C++ ABI, 5.1.5.2 Builtin types; spelled as llvm-cxxfilt does.
#[rustfmt::skip]
static BUILTIN_TYPES: [(ShortText<6>, ShortText<18>); 39] = [
    builtin("v", "void"), builtin("w", "wchar_t"), builtin("b", "bool"), builtin("c", "char"),
    builtin("a", "signed char"), builtin("h", "unsigned char"), builtin("s", "short"), builtin("t", "unsigned short"),
    builtin("i", "int"), builtin("j", "unsigned int"), builtin("l", "long"), builtin("m", "unsigned long"),
    builtin("x", "long long"), builtin("y", "unsigned long long"), builtin("n", "__int128"),
    builtin("o", "unsigned __int128"), builtin("f", "float"), builtin("d", "double"), builtin("e", "long double"),
    builtin("g", "__float128"), builtin("z", "..."), builtin("Dd", "decimal64"), builtin("De", "decimal128"),
    builtin("Df", "decimal32"), builtin("Dh", "half"), builtin("Di", "char32_t"), builtin("Ds", "char16_t"),
    builtin("Du", "char8_t"), builtin("Da", "auto"), builtin("Dc", "decltype(auto)"), builtin("Dn", "std::nullptr_t"),
    builtin("DF16b", "std::bfloat16_t"), builtin("DF16_", "_Float16"), builtin("DF32_", "_Float32"),
    builtin("DF64_", "_Float64"), builtin("DF128_", "_Float128"), builtin("DF32x", "_Float32x"),
    builtin("DF64x", "_Float64x"), builtin("DF128x", "_Float128x"),
];

const fn builtin(code: &str, name: &str) -> (ShortText<6>, ShortText<18>) {
    (ShortText::new(code), ShortText::new(name))
}

impl<'a> Parser<'a> {
    pub fn parse_type(&mut self) -> Option<NodeId> {
        self.nested(Self::type_of_first_letters)
    }

    fn type_of_first_letters(&mut self) -> Option<NodeId> {
        if let Some((code, name)) = BUILTIN_TYPES.iter().find(|(code, _)| code.begins(self.rest)) {
            self.take(code.len())?;
            return Some(self.text(name));
        }
        let id = match self.peek(0) {
            b'r' | b'V' | b'K' if self.qualifies_function() => self.function_type()?,
            b'r' | b'V' | b'K' | b'U' => self.qualified_type()?,
            b'u' => self.vendor_type()?,
            b'D' => self.type_of_two_letters()?,
            b'F' => self.function_type()?,
            b'A' => self.array_type()?,
            b'M' => {
                self.take(1)?;
                let class = self.parse_type()?;
                let member = self.parse_type()?;
                self.add(Node::MemberPointer(class, member))
            }
            b'T' => self.type_of_parameter()?,
            b'P' | b'R' | b'O' | b'C' | b'G' => self.compound_type()?,
            b'S' if self.peek(1) != b't' => {
                let id = self.substitution()?;
                if self.peek(0) != b'I' || !self.takes_arguments {
                    return Some(id);
                }
                self.with_arguments(id)?
            }
            _ => self.name(&mut NameState::default())?,
        };
        Some(self.substitutable(id))
    }

    /// Parses template arguments that follow a name.
    pub fn with_arguments(&mut self, name: NodeId) -> Option<NodeId> {
        let arguments = self.template_arguments(false)?;
        Some(self.add(Node::WithArguments(name, arguments)))
    }

    /// A pointer, reference, complex or imaginary type.
    fn compound_type(&mut self) -> Option<NodeId> {
        let letter = self.take(1)?;
        let id = self.parse_type()?;
        let suffix = match letter {
            "P" => return Some(self.add(Node::Pointer(id))),
            "R" => return Some(self.add(Node::Reference(id, false))),
            "O" => return Some(self.add(Node::Reference(id, true))),
            "C" => " complex",
            _ => " imaginary",
        };
        Some(self.sequence(Precedence::Primary, vec![Part::Node(id), Part::Text(suffix)]))
    }

    fn type_of_parameter(&mut self) -> Option<NodeId> {
        let keyword = match self.peek(1) {
            b's' => "struct ",
            b'u' => "union ",
            b'e' => "enum ",
            _ => {
                let id = self.template_parameter()?;
                if self.peek(0) != b'I' || !self.takes_arguments {
                    return Some(id);
                }
                self.substitutable(id);
                return self.with_arguments(id);
            }
        };
        self.take(2)?;
        let name = self.name(&mut NameState::default())?;
        Some(self.sequence(Precedence::Primary, vec![Part::Text(keyword), Part::Node(name)]))
    }

    fn vendor_type(&mut self) -> Option<NodeId> {
        self.take(1)?;
        let name = self.source_name()?;
        if self.peek(0) == b'I' { self.with_arguments(name) } else { Some(name) }
    }

    /// True if the qualifiers belong to a function type.
    fn qualifies_function(&self) -> bool {
        let skip = |rest: &'a str, letter: char| rest.strip_prefix(letter).unwrap_or(rest);
        let rest = ['r', 'V', 'K'].into_iter().fold(self.rest, skip);
        ["F", "Do", "DO", "Dw", "Dx"].iter().any(|start| rest.starts_with(start))
    }

    /// Parses the qualifiers `const`, `volatile` and `restrict`.
    pub fn qualifiers(&mut self) -> Qualifiers {
        let is_restrict = self.skip("r");
        let is_volatile = self.skip("V");
        let is_const = self.skip("K");
        Qualifiers { is_const, is_volatile, is_restrict, reference: None }
    }

    /// Parses the reference qualifier of a function.
    pub fn reference_qualifier(&mut self) -> Option<ReferenceQualifier> {
        if self.skip("O") {
            Some(ReferenceQualifier::Rvalue)
        } else {
            self.skip("R").then_some(ReferenceQualifier::Lvalue)
        }
    }

    fn qualified_type(&mut self) -> Option<NodeId> {
        if self.skip("U") {
            let extension = self.source_name()?;
            let arguments = if self.peek(0) == b'I' { Some(self.template_arguments(false)?) } else { None };
            let id = self.nested(Self::qualified_or_plain_type)?;
            let mut parts = vec![Part::Node(id), Part::Text(" "), Part::Node(extension)];
            parts.extend(arguments.map(Part::Node));
            return Some(self.sequence(Precedence::Primary, parts));
        }
        let qualifiers = self.qualifiers();
        let id = self.parse_type()?;
        let is_plain = qualifiers == Qualifiers::default();
        Some(if is_plain { id } else { self.add(Node::Qualified(id, qualifiers)) })
    }

    /// Parses the type after a vendor's qualifier. By itself, it is not a candidate for substitution.
    fn qualified_or_plain_type(&mut self) -> Option<NodeId> {
        match self.peek(0) {
            b'r' | b'V' | b'K' | b'U' => self.qualified_type(),
            _ => self.parse_type(),
        }
    }

    fn type_of_two_letters(&mut self) -> Option<NodeId> {
        match self.peek(1) {
            b't' | b'T' => self.decltype(),
            b'v' => self.vector_type(),
            b'p' => {
                self.take(2)?;
                let id = self.parse_type()?;
                Some(self.add(Node::Expansion(id)))
            }
            b'o' | b'O' | b'w' | b'x' => self.function_type(),
            b'k' | b'K' => {
                let kind = if self.peek(1) == b'k' { " auto" } else { " decltype(auto)" };
                self.take(2)?;
                let constraint = self.name(&mut NameState::default())?;
                Some(self.sequence(Precedence::Primary, vec![Part::Node(constraint), Part::Text(kind)]))
            }
            b'B' | b'U' => {
                let name = if self.peek(1) == b'B' { "_BitInt" } else { "unsigned _BitInt" };
                self.take(2)?;
                let size = self.number_or_expression()?;
                self.expect("_")?;
                let size = Part::Operand(size, Precedence::Any, false);
                Some(self.sequence(Precedence::Primary, vec![Part::Text(name), Part::Parentheses(vec![size])]))
            }
            _ => None,
        }
    }

    fn number_or_expression(&mut self) -> Option<NodeId> {
        if self.peek(0).is_ascii_digit() {
            let digits = self.digits(false);
            return Some(self.text(digits));
        }
        self.expression()
    }

    pub fn decltype(&mut self) -> Option<NodeId> {
        self.take(2)?;
        let expression = self.expression()?;
        self.expect("E")?;
        let parts = vec![Part::Text("decltype"), Part::Parentheses(vec![Part::Node(expression)])];
        Some(self.sequence(Precedence::Primary, parts))
    }

    fn vector_type(&mut self) -> Option<NodeId> {
        self.expect("Dv")?;
        let size = if self.peek(0) == b'_' { None } else { Some(self.number_or_expression()?) };
        self.expect("_")?;
        let element = if self.skip("p") { self.text("pixel") } else { self.parse_type()? };
        let mut parts = vec![Part::Node(element), Part::Text(" vector[")];
        parts.extend(size.map(Part::Node));
        parts.push(Part::Text("]"));
        Some(self.sequence(Precedence::Primary, parts))
    }

    fn array_type(&mut self) -> Option<NodeId> {
        self.expect("A")?;
        let dimension = if self.peek(0) == b'_' { None } else { Some(self.number_or_expression()?) };
        self.expect("_")?;
        let element = self.parse_type()?;
        Some(self.add(Node::Array(element, dimension)))
    }

    fn function_type(&mut self) -> Option<NodeId> {
        let mut qualifiers = self.qualifiers();
        let exceptions = self.exception_specification()?;
        // Transaction-safe functions and C linkage print like others.
        self.skip("Dx");
        self.expect("F")?;
        self.skip("Y");
        let returns = self.parse_type()?;
        let mut parameters = Vec::new();
        loop {
            if self.skip("E") {
                break;
            }
            if self.skip("v") {
                continue;
            }
            if self.rest.starts_with("RE") || self.rest.starts_with("OE") {
                qualifiers.reference = self.reference_qualifier();
                continue;
            }
            parameters.push(self.parse_type()?);
        }
        Some(self.add(Node::FunctionType { returns, parameters, qualifiers, exceptions }))
    }

    /// Parses an optional exception specification.
    fn exception_specification(&mut self) -> Option<Option<NodeId>> {
        let parts = if self.skip("Do") {
            vec![Part::Text("noexcept")]
        } else if self.skip("DO") {
            let condition = self.expression()?;
            self.expect("E")?;
            vec![Part::Text("noexcept"), Part::Parentheses(vec![Part::Operand(condition, Precedence::Any, false)])]
        } else if self.skip("Dw") {
            let types = self.until_end(Self::parse_type)?;
            vec![Part::Text("throw"), Part::Parentheses(vec![Part::List(types)])]
        } else {
            return Some(None);
        };
        Some(Some(self.sequence(Precedence::Primary, parts)))
    }

    /// Parses a substitution: an abbreviation of `std`, or a reference to an earlier type or name.
    pub fn substitution(&mut self) -> Option<NodeId> {
        self.expect("S")?;
        let letter = self.peek(0) as char;
        if !letter.is_ascii_lowercase() {
            let index = self.sequence_id()?;
            return self.substitutions.get(index).copied();
        }
        let name = STANDARD_NAMES.iter().find(|name| name.letter == letter)?;
        self.take(1)?;
        let id = self.add(Node::Standard(name));
        let tagged = self.abi_tags(id)?;
        if tagged != id {
            self.substitutable(tagged);
        }
        Some(tagged)
    }
}
