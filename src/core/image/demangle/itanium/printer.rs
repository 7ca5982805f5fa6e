//! The text of a tree, as llvm-cxxfilt prints it.
//!
//! A declarator surrounds the name that it declares: `int (*f)(long)`. So each node has a part before the name and a
//! part after it. Nodes are shared, so a short name can expand without bound. The length of the text, the depth and the
//! number of steps are limited.

use super::node::{Node, NodeId, Nodes, Part, Precedence, Qualifiers, ReferenceQualifier};
use super::parser::ForwardReference;

/// Maximum length of a demangled name, in bytes. Kernels of template libraries have some thousands.
const MAX_LENGTH: usize = 1 << 16;

/// Maximum number of nodes that are visited. An empty pack is visited without adding text.
const MAX_STEPS: usize = 1 << 18;

/// Maximum depth of the tree.
const MAX_DEPTH: usize = 300;

/// Printer of a tree.
pub struct Printer<'t, 'a> {
    nodes: &'t Nodes<'a>,
    forward: &'t [ForwardReference],
    text: String,
    /// Number of nodes that may be visited.
    steps_left: usize,
    /// Number of levels that may follow.
    levels_left: usize,
    /// Pack expansion around the current node.
    expansion: Option<PackExpansion>,
    /// A `>` is an operator, and not the end of template arguments.
    is_greater_operator: bool,
}

/// State of a pack expansion.
#[derive(Debug, Clone, Copy, Default)]
struct PackExpansion {
    index: usize,
    /// Number of elements of the packs in the pattern, once one was visited.
    size: Option<usize>,
}

impl<'t, 'a> Printer<'t, 'a> {
    pub fn new(nodes: &'t Nodes<'a>, forward: &'t [ForwardReference]) -> Self {
        Printer {
            nodes,
            forward,
            text: String::new(),
            steps_left: MAX_STEPS,
            levels_left: MAX_DEPTH,
            expansion: None,
            is_greater_operator: true,
        }
    }

    /// Prints a tree; `None` if it exceeds a limit.
    pub fn print(mut self, root: NodeId) -> Option<String> {
        self.node(root)?;
        Some(self.text)
    }

    fn get(&self, id: NodeId) -> &'t Node<'a> {
        self.nodes.get(id)
    }

    #[inline]
    fn push(&mut self, text: &str) -> Option<()> {
        if text.len() > MAX_LENGTH.checked_sub(self.text.len())? {
            return None;
        }
        self.text.push_str(text);
        Some(())
    }

    /// Counts a visit of a node.
    fn charge(&mut self) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        Some(())
    }

    /// Visits a node one level deeper.
    #[inline]
    fn nested(&mut self, print: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.charge()?;
        let outer = self.levels_left;
        self.levels_left = outer.checked_sub(1)?;
        print(self)?;
        self.levels_left = outer;
        Some(())
    }

    /// Prints in parentheses. Inside, `>` is an operator.
    fn enclosed(&mut self, print: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let outer = std::mem::replace(&mut self.is_greater_operator, true);
        self.push("(")?;
        print(self)?;
        self.is_greater_operator = outer;
        self.push(")")
    }

    fn node(&mut self, id: NodeId) -> Option<()> {
        self.before(id)?;
        self.after(id)
    }

    /// Prints the part of a node before the declared name.
    fn before(&mut self, id: NodeId) -> Option<()> {
        self.nested(|printer| printer.before_of(printer.get(id)))
    }

    fn before_of(&mut self, node: &'t Node<'a>) -> Option<()> {
        match node {
            Node::Text(text) => self.push(text),
            Node::Computed(text) => self.push(text),
            Node::Synthetic(name, index) => {
                self.push(name)?;
                if let Some(index) = index.checked_sub(1) { self.push(&index.to_string()) } else { Some(()) }
            }
            Node::Sequence(_, parts) => self.parts(parts),
            Node::Nested(scope, name) => {
                self.node(*scope)?;
                self.push("::")?;
                self.node(*name)
            }
            Node::WithArguments(name, arguments) => {
                self.node(*name)?;
                self.node(*arguments)
            }
            Node::Tagged(name, tag) => {
                self.before(*name)?;
                self.push("[abi:")?;
                self.push(tag)?;
                self.push("]")
            }
            Node::Standard(name) => {
                self.push("std::")?;
                self.push(name.name)
            }
            Node::Pack(elements) => self.list(elements),
            Node::PackParameter(elements) => self.element(elements).map_or(Some(()), |id| self.before(id)),
            Node::Expansion(pattern) => self.expand(*pattern),
            Node::Forward(index) => self.before(self.target(*index)?),
            Node::Binary(token, precedence, left, right) => self.binary(token, *precedence, *left, *right),
            Node::Declaration(before, _) => self.node(*before),
            _ => self.before_type(node),
        }
    }

    fn before_type(&mut self, node: &'t Node<'a>) -> Option<()> {
        match *node {
            Node::Function { returns, name, .. } => {
                if let Some(returns) = returns {
                    self.before(returns)?;
                    if !self.has_after(returns)? {
                        self.push(" ")?;
                    }
                }
                self.node(name)
            }
            Node::FunctionType { returns, .. } => {
                self.before(returns)?;
                self.push(" ")
            }
            Node::Qualified(id, qualifiers) => {
                self.before(id)?;
                self.qualifiers(qualifiers)
            }
            Node::Pointer(target) => self.before_declarator(target, "*"),
            Node::Reference(..) => {
                let (target, is_rvalue) = self.collapsed(node)?;
                self.before_declarator(target, if is_rvalue { "&&" } else { "&" })
            }
            Node::MemberPointer(class, member) => {
                self.before(member)?;
                let separator = if self.needs_parentheses(member)? { "(" } else { " " };
                self.push(separator)?;
                self.node(class)?;
                self.push("::*")
            }
            Node::Array(element, _) => self.before(element),
            _ => Some(()),
        }
    }

    fn before_declarator(&mut self, target: NodeId, token: &str) -> Option<()> {
        self.before(target)?;
        if self.is_array(target)? {
            self.push(" ")?;
        }
        if self.needs_parentheses(target)? {
            self.push("(")?;
        }
        self.push(token)
    }

    /// Prints the part of a node after the declared name.
    fn after(&mut self, id: NodeId) -> Option<()> {
        self.nested(|printer| printer.after_of(printer.get(id)))
    }

    fn after_of(&mut self, node: &'t Node<'a>) -> Option<()> {
        match node {
            Node::Function { returns, parameters, qualifiers, constraints, .. } => {
                self.parameters(parameters)?;
                if let Some(returns) = returns {
                    self.after(*returns)?;
                }
                self.qualifiers(*qualifiers)?;
                self.parts(constraints)
            }
            Node::FunctionType { returns, parameters, qualifiers, exceptions } => {
                self.parameters(parameters)?;
                self.after(*returns)?;
                self.qualifiers(*qualifiers)?;
                let Some(exceptions) = exceptions else { return Some(()) };
                self.push(" ")?;
                self.node(*exceptions)
            }
            Node::Qualified(id, _) => self.after(*id),
            Node::Pointer(target) => self.after_declarator(*target),
            Node::Reference(..) => {
                let (target, _) = self.collapsed(node)?;
                self.after_declarator(target)
            }
            Node::MemberPointer(_, member) => self.after_declarator(*member),
            Node::Array(element, dimension) => {
                self.dimension(*dimension)?;
                self.after(*element)
            }
            Node::Declaration(_, after) => self.node(*after),
            Node::PackParameter(elements) => self.element(elements).map_or(Some(()), |id| self.after(id)),
            Node::Forward(index) => self.after(self.target(*index)?),
            _ => Some(()),
        }
    }

    fn dimension(&mut self, dimension: Option<NodeId>) -> Option<()> {
        if !self.text.ends_with(']') {
            self.push(" ")?;
        }
        self.push("[")?;
        if let Some(dimension) = dimension {
            self.node(dimension)?;
        }
        self.push("]")
    }

    fn after_declarator(&mut self, target: NodeId) -> Option<()> {
        if self.needs_parentheses(target)? {
            self.push(")")?;
        }
        self.after(target)
    }

    fn parameters(&mut self, parameters: &'t [NodeId]) -> Option<()> {
        self.enclosed(|printer| printer.list(parameters))
    }

    fn qualifiers(&mut self, qualifiers: Qualifiers) -> Option<()> {
        let Qualifiers { is_const, is_volatile, is_restrict, reference } = qualifiers;
        for (is_set, text) in [(is_const, " const"), (is_volatile, " volatile"), (is_restrict, " restrict")] {
            if is_set {
                self.push(text)?;
            }
        }
        match reference {
            Some(ReferenceQualifier::Lvalue) => self.push(" &"),
            Some(ReferenceQualifier::Rvalue) => self.push(" &&"),
            None => Some(()),
        }
    }

    /// Prints nodes, with commas between nodes that print something.
    fn list(&mut self, nodes: &'t [NodeId]) -> Option<()> {
        let start = self.text.len();
        for id in nodes {
            let end = self.text.len();
            if end > start {
                self.push(", ")?;
            }
            let before = self.text.len();
            self.operand(*id, Precedence::Comma, false)?;
            if self.text.len() == before {
                self.text.truncate(end);
            }
        }
        Some(())
    }

    /// Prints the pattern of an expansion once for each element of its packs.
    fn expand(&mut self, pattern: NodeId) -> Option<()> {
        let outer = self.expansion.replace(PackExpansion::default());
        let start = self.text.len();
        self.node(pattern)?;
        let size = self.expansion.and_then(|expansion| expansion.size);
        match size {
            // A pack of a function's parameters. Its elements are not known.
            None => self.push("...")?,
            Some(0) => self.text.truncate(start),
            Some(size) => {
                for index in 1..size {
                    self.push(", ")?;
                    self.expansion = Some(PackExpansion { index, size: Some(size) });
                    self.node(pattern)?;
                }
            }
        }
        self.expansion = outer;
        Some(())
    }

    /// Element of a pack at the current index of the expansion.
    fn element(&mut self, elements: &[NodeId]) -> Option<NodeId> {
        let expansion = self.expansion.get_or_insert_default();
        expansion.size.get_or_insert(elements.len());
        elements.get(expansion.index).copied()
    }

    fn target(&self, index: usize) -> Option<NodeId> {
        match self.forward.get(index)? {
            ForwardReference::Argument(id) => Some(*id),
            ForwardReference::Index(_) => None,
        }
    }

    fn parts(&mut self, parts: &'t [Part<'a>]) -> Option<()> {
        for part in parts {
            match part {
                Part::Text(text) => self.push(text)?,
                Part::Node(id) => self.node(*id)?,
                Part::Operand(id, precedence, is_equal_allowed) => self.operand(*id, *precedence, *is_equal_allowed)?,
                Part::List(nodes) => self.list(nodes)?,
                Part::Parentheses(parts) => self.enclosed(|printer| printer.parts(parts))?,
                Part::Angles(parts) => {
                    self.push("<")?;
                    let outer = std::mem::replace(&mut self.is_greater_operator, false);
                    self.parts(parts)?;
                    self.is_greater_operator = outer;
                    self.push(">")?;
                }
            }
        }
        Some(())
    }

    /// Prints an operand, in parentheses if it binds less strongly than the operator.
    fn operand(&mut self, id: NodeId, precedence: Precedence, is_equal_allowed: bool) -> Option<()> {
        let own = match self.get(id) {
            Node::Sequence(own, _) | Node::Binary(_, own, ..) => *own,
            _ => Precedence::Primary,
        };
        let is_enclosed = own > precedence || (own == precedence && !is_equal_allowed);
        if is_enclosed { self.enclosed(|printer| printer.node(id)) } else { self.node(id) }
    }

    fn binary(&mut self, token: &str, precedence: Precedence, left: NodeId, right: NodeId) -> Option<()> {
        if !self.is_greater_operator && matches!(token, ">" | ">>") {
            return self.enclosed(|printer| printer.binary(token, precedence, left, right));
        }
        let is_assignment = precedence == Precedence::Assignment;
        self.operand(left, if is_assignment { Precedence::LogicalOr } else { precedence }, !is_assignment)?;
        if token != "," {
            self.push(" ")?;
        }
        self.push(token)?;
        self.push(" ")?;
        self.operand(right, precedence, is_assignment)
    }

    /// Resolves references to references. Returns the target, and whether it is referenced as an rvalue.
    fn collapsed(&mut self, node: &'t Node<'a>) -> Option<(NodeId, bool)> {
        let Node::Reference(mut target, mut is_rvalue) = *node else { return None };
        loop {
            let inner = self.resolved(target)?;
            let Node::Reference(next, is_inner_rvalue) = *self.get(inner) else { return Some((target, is_rvalue)) };
            (target, is_rvalue) = (next, is_rvalue && is_inner_rvalue);
        }
    }

    /// Returns the node that a template parameter refers to.
    fn resolved(&mut self, mut id: NodeId) -> Option<NodeId> {
        loop {
            self.charge()?;
            id = match self.get(id) {
                Node::PackParameter(elements) => match self.element(elements) {
                    Some(element) => element,
                    None => return Some(id),
                },
                Node::Forward(index) => self.target(*index)?,
                _ => return Some(id),
            };
        }
    }

    /// Skips qualifiers. The remaining type determines the declarator.
    fn unqualified(&mut self, mut id: NodeId) -> Option<NodeId> {
        loop {
            id = self.resolved(id)?;
            let Node::Qualified(inner, _) = self.get(id) else { return Some(id) };
            id = *inner;
        }
    }

    fn is_array(&mut self, id: NodeId) -> Option<bool> {
        let id = self.unqualified(id)?;
        Some(matches!(self.get(id), Node::Array(..)))
    }

    fn needs_parentheses(&mut self, id: NodeId) -> Option<bool> {
        let id = self.unqualified(id)?;
        Some(matches!(self.get(id), Node::Array(..) | Node::FunctionType { .. } | Node::Function { .. }))
    }

    /// True if the node has a part after the declared name.
    fn has_after(&mut self, mut id: NodeId) -> Option<bool> {
        loop {
            id = self.unqualified(id)?;
            id = match self.get(id) {
                Node::Pointer(inner) | Node::Reference(inner, _) | Node::MemberPointer(_, inner) => *inner,
                Node::Array(..) | Node::FunctionType { .. } | Node::Function { .. } | Node::Declaration(..) => {
                    return Some(true);
                }
                _ => return Some(false),
            };
        }
    }
}
