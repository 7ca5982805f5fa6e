//! The tree of a mangled name. Nodes are in one vector; substitutions share them.

/// Nodes of a mangled name.
#[derive(Debug, Default)]
pub struct Nodes<'a>(Vec<Node<'a>>);

/// Index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeId(u32);

impl<'a> Nodes<'a> {
    pub fn add(&mut self, node: Node<'a>) -> NodeId {
        let id = NodeId(self.0.len() as u32);
        self.0.push(node);
        id
    }

    #[expect(clippy::indexing_slicing, reason = "an id is the index of a node that was added, and no node is removed")]
    pub fn get(&self, id: NodeId) -> &Node<'a> {
        &self.0[id.0 as usize]
    }
}

/// Part of a name, type or expression.
#[derive(Debug, Clone)]
pub enum Node<'a> {
    /// Text of the mangled name, or constant text.
    Text(&'a str),
    /// Text that is not in the mangled name.
    Computed(String),
    /// Name of a template parameter of a lambda that has no name in the source: `$T0`.
    Synthetic(&'static str, usize),
    /// Parts in a row, with the precedence of their expression.
    Sequence(Precedence, Vec<Part<'a>>),
    /// `scope::name`.
    Nested(NodeId, NodeId),
    /// A template with its arguments.
    WithArguments(NodeId, NodeId),
    /// Name with an ABI tag.
    Tagged(NodeId, &'a str),
    /// Template in `std` with an abbreviation: its name, its arguments, and the name of the type if it has one.
    Standard(&'static StandardName),
    /// A pack as template argument: all elements.
    Pack(Vec<NodeId>),
    /// A template parameter that is a pack: the element of the expansion's current index.
    PackParameter(Vec<NodeId>),
    /// Expansion of the packs in a pattern.
    Expansion(NodeId),
    /// Template parameter that is used before its argument, by the index of the reference.
    Forward(usize),
    /// A function with its type; the return type is absent where the mangling omits it.
    Function {
        returns: Option<NodeId>,
        name: NodeId,
        parameters: Vec<NodeId>,
        qualifiers: Qualifiers,
        /// `enable_if` attribute and `requires` clause.
        constraints: Vec<Part<'a>>,
    },
    /// Type of functions.
    FunctionType { returns: NodeId, parameters: Vec<NodeId>, qualifiers: Qualifiers, exceptions: Option<NodeId> },
    /// Type with qualifiers.
    Qualified(NodeId, Qualifiers),
    /// Pointer.
    Pointer(NodeId),
    /// Reference; to an rvalue if the flag is set.
    Reference(NodeId, bool),
    /// Pointer to a member: class and type of the member.
    MemberPointer(NodeId, NodeId),
    /// Array with its dimension.
    Array(NodeId, Option<NodeId>),
    /// A declaration: the parts before and after the declared name.
    Declaration(NodeId, NodeId),
    /// Binary operation.
    Binary(&'static str, Precedence, NodeId, NodeId),
}

/// Part of a [`Node::Sequence`].
#[derive(Debug, Clone)]
pub enum Part<'a> {
    /// Text.
    Text(&'a str),
    /// Node.
    Node(NodeId),
    /// Node in parentheses if it binds less strongly than this precedence. A node of equal precedence also gets
    /// parentheses, unless the flag is set.
    Operand(NodeId, Precedence, bool),
    /// Nodes with commas between them.
    List(Vec<NodeId>),
    /// Parts in parentheses. Inside, `>` is an operator.
    Parentheses(Vec<Part<'a>>),
    /// Parts in angle brackets. Inside, `>` is the end.
    Angles(Vec<Part<'a>>),
}

/// Qualifiers of a type or of a member function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Qualifiers {
    pub is_const: bool,
    pub is_volatile: bool,
    pub is_restrict: bool,
    pub reference: Option<ReferenceQualifier>,
}

/// Reference qualifier of a member function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceQualifier {
    Lvalue,
    Rvalue,
}

/// Binding strength of operators, from the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    Primary,
    Postfix,
    Unary,
    Cast,
    MemberPointer,
    Multiplicative,
    Additive,
    Shift,
    Spaceship,
    Relational,
    Equality,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
    Conditional,
    Assignment,
    Comma,
    /// Weaker than all operators: never in parentheses.
    Any,
}

/// A name in `std` that has an abbreviation.
#[derive(Debug, PartialEq, Eq)]
pub struct StandardName {
    /// The letter after `S`.
    pub letter: char,
    /// The name, without `std::`.
    pub name: &'static str,
    /// The class template with its arguments, for types that are an alias of it.
    pub alias_of: Option<(&'static str, &'static str)>,
}

/// Source: Itanium C++ ABI, 5.1.10 Compression.
pub static STANDARD_NAMES: [StandardName; 6] = [
    StandardName { letter: 'a', name: "allocator", alias_of: None },
    StandardName { letter: 'b', name: "basic_string", alias_of: None },
    StandardName {
        letter: 's',
        name: "string",
        alias_of: Some(("basic_string", "<char, std::char_traits<char>, std::allocator<char>>")),
    },
    StandardName { letter: 'i', name: "istream", alias_of: Some(("basic_istream", "<char, std::char_traits<char>>")) },
    StandardName { letter: 'o', name: "ostream", alias_of: Some(("basic_ostream", "<char, std::char_traits<char>>")) },
    StandardName {
        letter: 'd',
        name: "iostream",
        alias_of: Some(("basic_iostream", "<char, std::char_traits<char>>")),
    },
];
