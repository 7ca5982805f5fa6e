//! The operators of expressions and operator functions.

use super::node::Precedence;
use crate::base::short_text::ShortText;

/// An operator.
pub struct Operator {
    /// The two letters of its mangled form.
    pub code: ShortText<2>,
    /// Its token in the source.
    pub token: ShortText<16>,
    /// Its operands.
    pub form: Form,
    /// Precedence of its expressions.
    pub precedence: Precedence,
}

/// Operands of an operator, and their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Two operands.
    Binary,
    /// One operand after the operator.
    Prefix,
    /// One operand before the operator; after it with `_` after the code.
    Postfix,
    /// Two operands without spaces around the operator: members.
    Member,
    /// Base and index.
    Subscript,
    /// Function and arguments.
    Call,
    /// Type in parentheses, and expressions.
    Conversion,
    /// Type in angle brackets, and expression.
    NamedCast,
    /// Three operands.
    Conditional,
    /// `new`.
    New,
    /// `delete`.
    Delete,
    /// Type in parentheses.
    OfType,
    /// Expression in parentheses.
    OfExpression,
}

impl Operator {
    /// Looks up an operator by its code.
    pub fn find(code: &str) -> Option<&'static Operator> {
        OPERATORS.iter().find(|operator| operator.code == *code)
    }

    /// True if the operator can name a function.
    pub fn is_overloadable(&self) -> bool {
        match self.form {
            Form::Member => self.token != *".",
            Form::NamedCast | Form::Conversion | Form::OfType | Form::OfExpression => false,
            _ => true,
        }
    }
}

const fn operator(code: &str, token: &str, form: Form, precedence: Precedence) -> Operator {
    Operator { code: ShortText::new(code), token: ShortText::new(token), form, precedence }
}

use Form::{
    Binary, Call, Conditional, Conversion, Delete, Member, NamedCast, New, OfExpression, OfType, Postfix, Prefix,
    Subscript,
};
use Precedence as P;

/// Source: Itanium C++ ABI, 5.1.3.2 Operator Encodings, and 5.1.6 Expressions.
static OPERATORS: [Operator; 63] = [
    operator("aN", "&=", Binary, P::Assignment),
    operator("aS", "=", Binary, P::Assignment),
    operator("aa", "&&", Binary, P::LogicalAnd),
    operator("ad", "&", Prefix, P::Unary),
    operator("an", "&", Binary, P::And),
    operator("at", "alignof ", OfType, P::Unary),
    operator("aw", "co_await", Prefix, P::Unary),
    operator("az", "alignof ", OfExpression, P::Unary),
    operator("cc", "const_cast", NamedCast, P::Postfix),
    operator("cl", "()", Call, P::Postfix),
    operator("cm", ",", Binary, P::Comma),
    operator("co", "~", Prefix, P::Unary),
    operator("cv", "", Conversion, P::Cast),
    operator("dV", "/=", Binary, P::Assignment),
    operator("da", "delete[]", Delete, P::Unary),
    operator("dc", "dynamic_cast", NamedCast, P::Postfix),
    operator("de", "*", Prefix, P::Unary),
    operator("dl", "delete", Delete, P::Unary),
    operator("ds", ".*", Member, P::MemberPointer),
    operator("dt", ".", Member, P::Postfix),
    operator("dv", "/", Binary, P::Multiplicative),
    operator("eO", "^=", Binary, P::Assignment),
    operator("eo", "^", Binary, P::Xor),
    operator("eq", "==", Binary, P::Equality),
    operator("ge", ">=", Binary, P::Relational),
    operator("gt", ">", Binary, P::Relational),
    operator("ix", "[]", Subscript, P::Postfix),
    operator("lS", "<<=", Binary, P::Assignment),
    operator("le", "<=", Binary, P::Relational),
    operator("ls", "<<", Binary, P::Shift),
    operator("lt", "<", Binary, P::Relational),
    operator("mI", "-=", Binary, P::Assignment),
    operator("mL", "*=", Binary, P::Assignment),
    operator("mi", "-", Binary, P::Additive),
    operator("ml", "*", Binary, P::Multiplicative),
    operator("mm", "--", Postfix, P::Postfix),
    operator("na", "new[]", New, P::Unary),
    operator("ne", "!=", Binary, P::Equality),
    operator("ng", "-", Prefix, P::Unary),
    operator("nt", "!", Prefix, P::Unary),
    operator("nw", "new", New, P::Unary),
    operator("oR", "|=", Binary, P::Assignment),
    operator("oo", "||", Binary, P::LogicalOr),
    operator("or", "|", Binary, P::Or),
    operator("pL", "+=", Binary, P::Assignment),
    operator("pl", "+", Binary, P::Additive),
    operator("pm", "->*", Member, P::MemberPointer),
    operator("pp", "++", Postfix, P::Postfix),
    operator("ps", "+", Prefix, P::Unary),
    operator("pt", "->", Member, P::Postfix),
    operator("qu", "?", Conditional, P::Conditional),
    operator("rM", "%=", Binary, P::Assignment),
    operator("rS", ">>=", Binary, P::Assignment),
    operator("rc", "reinterpret_cast", NamedCast, P::Postfix),
    operator("rm", "%", Binary, P::Multiplicative),
    operator("rs", ">>", Binary, P::Shift),
    operator("sc", "static_cast", NamedCast, P::Postfix),
    operator("ss", "<=>", Binary, P::Spaceship),
    operator("st", "sizeof ", OfType, P::Unary),
    operator("sz", "sizeof ", OfExpression, P::Unary),
    operator("te", "typeid ", OfExpression, P::Postfix),
    operator("ti", "typeid ", OfType, P::Postfix),
    operator("nx", "noexcept ", OfExpression, P::Unary),
];
