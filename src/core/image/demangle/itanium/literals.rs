//! Literals, and names in expressions that depend on template parameters.

use super::node::{Node, NodeId, Part, Precedence};
use super::parser::{NameState, Parser};
use crate::base::short_text::ShortText;

use Precedence::Primary;

/// Types of integer literals: letter, type that is written before the value, suffix.
static INTEGERS: [Integer; 14] = [
    integer("w", "wchar_t", ""),
    integer("c", "char", ""),
    integer("a", "signed char", ""),
    integer("h", "unsigned char", ""),
    integer("s", "short", ""),
    integer("t", "unsigned short", ""),
    integer("i", "", ""),
    integer("j", "", "u"),
    integer("l", "", "l"),
    integer("m", "", "ul"),
    integer("x", "", "ll"),
    integer("y", "", "ull"),
    integer("n", "__int128", ""),
    integer("o", "unsigned __int128", ""),
];

/// Letter, type and suffix of a literal.
type Integer = (ShortText<1>, ShortText<17>, ShortText<3>);

const fn integer(letter: &str, before: &str, suffix: &str) -> Integer {
    (ShortText::new(letter), ShortText::new(before), ShortText::new(suffix))
}

impl<'a> Parser<'a> {
    /// Parses a literal, or a function or variable as a template argument.
    pub fn literal(&mut self) -> Option<NodeId> {
        self.expect("L")?;
        if self.skip("_Z") || self.skip("Z") {
            let id = self.nested(Self::encoding)?;
            self.expect("E")?;
            return Some(id);
        }
        if let Some((letter, before, suffix)) = INTEGERS.iter().find(|(letter, ..)| letter.begins(self.rest)) {
            self.take(letter.len())?;
            let before = self.text(before);
            return self.integer(before, suffix);
        }
        match (self.peek(0), self.peek(1)) {
            (b'b', _) => self.boolean(),
            (b'f' | b'd' | b'e', _) => self.float(),
            (b'D', b'n') => {
                self.take(2)?;
                self.skip("0");
                self.expect("E")?;
                Some(self.text("nullptr"))
            }
            (b'A', _) => {
                let array = self.parse_type()?;
                self.expect("E")?;
                Some(self.sequence(Primary, vec![Part::Text("\"<"), Part::Node(array), Part::Text(">\"")]))
            }
            (b'U', b'l') => {
                self.take(2)?;
                self.lambda()
            }
            (b'T', _) => None,
            _ => {
                let id = self.parse_type()?;
                self.integer(id, "")
            }
        }
    }

    fn lambda(&mut self) -> Option<NodeId> {
        let mut parts = vec![Part::Text("[]")];
        parts.extend(self.lambda_declarator()?);
        self.digits(false);
        self.expect("_E")?;
        parts.push(Part::Text("{...}"));
        Some(self.sequence(Primary, parts))
    }

    /// Parses the value of an integer or enumerator up to its `E`.
    fn integer(&mut self, of_type: NodeId, suffix: &'static str) -> Option<NodeId> {
        let value = self.digits(true);
        self.expect("E")?;
        if value.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        if !matches!(self.node(of_type), Node::Text("")) {
            parts.push(Part::Parentheses(vec![Part::Node(of_type)]));
        }
        if value.starts_with('n') {
            parts.push(Part::Text("-"));
        }
        parts.extend([Part::Text(value.trim_start_matches('n')), Part::Text(suffix)]);
        Some(self.sequence(Primary, parts))
    }

    fn boolean(&mut self) -> Option<NodeId> {
        let value = match self.take(3)? {
            "b0E" => "false",
            "b1E" => "true",
            _ => return None,
        };
        Some(self.text(value))
    }

    /// Parses a floating point literal: its bytes in hexadecimal, the most significant first.
    fn float(&mut self) -> Option<NodeId> {
        let of_type = self.take(1)?;
        let size = self.rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
        let digits = self.take(size)?;
        self.expect("E")?;
        let bits = u64::from_str_radix(digits, 16).ok()?;
        let value = match (of_type, digits.len()) {
            ("f", 8) => f64::from(f32::from_bits(bits as u32)),
            ("d", 16) => f64::from_bits(bits),
            _ => return None,
        };
        let text = hexadecimal_float(value) + if of_type == "f" { "f" } else { "" };
        Some(self.add(Node::Computed(text)))
    }

    /// Parses a name whose scope depends on a template parameter.
    pub fn unresolved_name(&mut self, is_global: bool) -> Option<NodeId> {
        if self.skip("srN") {
            let mut scope = self.unresolved_type_with_arguments()?;
            while !self.skip("E") {
                let level = self.simple_name()?;
                scope = self.add(Node::Nested(scope, level));
            }
            let name = self.base_unresolved_name()?;
            return Some(self.add(Node::Nested(scope, name)));
        }
        if !self.skip("sr") {
            let name = self.base_unresolved_name()?;
            return Some(if is_global { self.global(name) } else { name });
        }
        let scope = if self.peek(0).is_ascii_digit() {
            let mut scope = self.simple_name()?;
            if is_global {
                scope = self.global(scope);
            }
            while !self.skip("E") {
                let level = self.simple_name()?;
                scope = self.add(Node::Nested(scope, level));
            }
            scope
        } else {
            self.unresolved_type_with_arguments()?
        };
        let name = self.base_unresolved_name()?;
        Some(self.add(Node::Nested(scope, name)))
    }

    fn global(&mut self, name: NodeId) -> NodeId {
        self.sequence(Primary, vec![Part::Text("::"), Part::Node(name)])
    }

    fn unresolved_type_with_arguments(&mut self) -> Option<NodeId> {
        let id = self.unresolved_type()?;
        if self.peek(0) == b'I' { self.with_arguments(id) } else { Some(id) }
    }

    fn unresolved_type(&mut self) -> Option<NodeId> {
        let id = match self.peek(0) {
            b'T' => self.template_parameter()?,
            b'D' => self.decltype()?,
            _ => return self.substitution(),
        };
        Some(self.substitutable(id))
    }

    fn simple_name(&mut self) -> Option<NodeId> {
        let name = self.source_name()?;
        if self.peek(0) == b'I' { self.with_arguments(name) } else { Some(name) }
    }

    fn base_unresolved_name(&mut self) -> Option<NodeId> {
        if self.peek(0).is_ascii_digit() {
            return self.simple_name();
        }
        if self.skip("dn") {
            let name = if self.peek(0).is_ascii_digit() { self.simple_name()? } else { self.unresolved_type()? };
            return Some(self.sequence(Primary, vec![Part::Text("~"), Part::Node(name)]));
        }
        self.skip("on");
        let name = self.operator_name(&mut NameState::default())?;
        if self.peek(0) == b'I' { self.with_arguments(name) } else { Some(name) }
    }
}

/// Formats a floating point number as C's `%a` does.
fn hexadecimal_float(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if !value.is_finite() {
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = (bits >> 52) as i64 & 0x7ff;
    let (leading, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        (exponent, _) => (1, exponent.wrapping_sub(1023)),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{leading}{point}{digits}p{exponent:+}")
}
