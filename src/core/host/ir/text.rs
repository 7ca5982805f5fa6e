//! A module as text, the language of LLVM's `.ll` files.
//!
//! Source: LLVM Language Reference.

use std::io::{self, Write};

use super::content::content_runs;
use super::module::{
    BinaryOperation, BlockLabel, ConstantForm, Conversion, Instruction, IrConstant, IrFunction, IrModule, IrType,
    IrValue, IrVariable, Linkage, Predicate, SectionBytes, TypeId,
};
use crate::host::plan::{Data, ObjectPlan};

/// A module and the writer of its text.
struct Text<'plan, W> {
    module: &'plan IrModule,
    plan: &'plan ObjectPlan<'plan>,
    output: W,
}

/// Writes a module; `plan` has the bytes of its sections. Their text is not kept in memory.
pub fn write(module: &IrModule, plan: &ObjectPlan, output: impl Write) -> io::Result<()> {
    let mut text = Text { module, plan, output };
    writeln!(text.output, "source_filename = {}", quoted(module.source_name))?;
    writeln!(text.output, "target triple = {}\n", quoted(&module.triple))?;
    for variable in &module.variables {
        text.variable(variable)?;
    }
    for function in &module.functions {
        text.function(function)?;
    }
    text.output.flush()
}

impl<W: Write> Text<'_, W> {
    fn variable(&mut self, variable: &IrVariable) -> io::Result<()> {
        let linkage = match variable.linkage {
            Linkage::External => "external ",
            Linkage::Hidden => "external hidden ",
            Linkage::Weak => "extern_weak ",
            Linkage::Internal => "internal ",
            Linkage::Appending => "appending ",
        };
        let keyword = if variable.is_constant { "constant" } else { "global" };
        let value_type = self.type_name(variable.value_type);
        write!(self.output, "{} = {linkage}{keyword} {value_type}", symbol(&variable.name))?;
        match variable.initializer {
            Some(IrValue::Constant(index)) => match self.module.constant(index) {
                IrConstant { form: ConstantForm::Bytes(bytes), .. } => self.bytes(bytes)?,
                constant => write!(self.output, " {}", self.constant(constant))?,
            },
            Some(value) => write!(self.output, " {}", self.value(value))?,
            None => {}
        }
        if let Some(section) = &variable.section {
            write!(self.output, ", section {}", quoted(section))?;
        }
        if variable.alignment > 0 {
            write!(self.output, ", align {}", variable.alignment)?;
        }
        writeln!(self.output)
    }

    /// Writes an array of bytes, a part at a time.
    fn bytes(&mut self, bytes: &SectionBytes) -> io::Result<()> {
        const PART: usize = 64 << 10;
        write!(self.output, " c\"")?;
        if let Data::Bytes(content) = &self.plan.sections[bytes.section].data {
            let mut text = Vec::with_capacity(3 * PART);
            for run in content_runs(content, bytes.range.start, bytes.range.end - bytes.range.start) {
                for part in run.chunks(PART) {
                    text.clear();
                    for &byte in part {
                        escape(byte, &mut text);
                    }
                    self.output.write_all(&text)?;
                }
            }
        }
        write!(self.output, "\"")
    }

    fn function(&mut self, function: &IrFunction) -> io::Result<()> {
        let (result, parameters) = self.signature(function.function_type);
        let name = symbol(&function.name);
        if function.blocks.is_empty() {
            return writeln!(self.output, "\ndeclare {result} {name}({parameters})");
        }
        let section = quoted(self.module.code_section);
        writeln!(self.output, "\ndefine internal {result} {name}({parameters}) section {section} {{")?;
        let mut locals = 0;
        for block in &function.blocks {
            writeln!(self.output, "{}:", label(block.label))?;
            for instruction in &block.instructions {
                let text = self.instruction(instruction, &function.locals);
                if self.module.has_result(instruction) {
                    writeln!(self.output, "  %v{locals} = {text}")?;
                    locals += 1;
                } else {
                    writeln!(self.output, "  {text}")?;
                }
            }
        }
        writeln!(self.output, "}}")
    }

    fn instruction(&self, instruction: &Instruction, locals: &[TypeId]) -> String {
        let typed = |value: &IrValue| self.typed_value(*value, locals);
        match instruction {
            Instruction::Call { callee, function_type, arguments } => {
                let (result, _) = self.signature(*function_type);
                let arguments: Vec<String> = arguments.iter().map(typed).collect();
                format!("call {result} {}({})", self.value(*callee), arguments.join(", "))
            }
            Instruction::Load { pointer, loaded_type, size } => {
                format!("load {}, {}, align {size}", self.type_name(*loaded_type), typed(pointer))
            }
            Instruction::Store { pointer, value, size } => {
                format!("store {}, {}, align {size}", typed(value), typed(pointer))
            }
            Instruction::Offset { pointer, bytes } => {
                format!("getelementptr inbounds i8, {}, {}", typed(pointer), typed(bytes))
            }
            Instruction::Cast { conversion: by, value, to } => {
                format!("{} {} to {}", conversion(*by), typed(value), self.type_name(*to))
            }
            Instruction::Binary { operation, left, right } => {
                format!("{} {}, {}", binary_operation(*operation), typed(left), self.value(*right))
            }
            Instruction::Compare { predicate: by, left, right } => {
                format!("icmp {} {}, {}", predicate(*by), typed(left), self.value(*right))
            }
            Instruction::Phi { phi_type, incoming } => {
                let source = |&(value, from)| format!("[ {}, %{} ]", self.value(value), label(from));
                let incoming: Vec<String> = incoming.iter().map(source).collect();
                format!("phi {} {}", self.type_name(*phi_type), incoming.join(", "))
            }
            Instruction::Jump(to) => format!("br label %{}", label(*to)),
            Instruction::Branch { condition, then, otherwise } => {
                format!("br {}, label %{}, label %{}", typed(condition), label(*then), label(*otherwise))
            }
            Instruction::Return => "ret void".to_owned(),
        }
    }

    /// Returns the text of a function type's result and parameters.
    fn signature(&self, function_type: TypeId) -> (String, String) {
        match self.ir_type(function_type) {
            IrType::Function(result, parameters) => (self.type_name(*result), self.type_list(parameters)),
            _ => unreachable!("the type of a function"),
        }
    }

    fn typed_value(&self, value: IrValue, locals: &[TypeId]) -> String {
        format!("{} {}", self.type_name(self.module.type_of(value, locals)), self.value(value))
    }

    /// Returns a value without its type.
    fn value(&self, value: IrValue) -> String {
        match value {
            IrValue::Variable(index) => symbol(&self.module.variables[index].name),
            IrValue::Function(index) => symbol(&self.module.functions[index].name),
            IrValue::Constant(index) => self.constant(self.module.constant(index)),
            IrValue::Local(index) => format!("%v{index}"),
        }
    }

    fn constant(&self, constant: &IrConstant) -> String {
        let typed = |value: &IrValue| self.typed_value(*value, &[]);
        match &constant.form {
            ConstantForm::Zero if matches!(self.ir_type(constant.constant_type), IrType::Pointer(_)) => {
                "null".to_owned()
            }
            ConstantForm::Zero => "zeroinitializer".to_owned(),
            ConstantForm::Integer(value) => value.to_string(),
            ConstantForm::Bytes(_) => unreachable!("bytes initialize a variable"),
            ConstantForm::Aggregate(elements) => {
                let elements = elements.iter().map(typed).collect::<Vec<_>>().join(", ");
                match self.ir_type(constant.constant_type) {
                    IrType::Packed(_) => format!("<{{ {elements} }}>"),
                    IrType::Struct(_) => format!("{{ {elements} }}"),
                    _ => format!("[{elements}]"),
                }
            }
            ConstantForm::Bitcast(value) => {
                format!("bitcast ({} to {})", typed(value), self.type_name(constant.constant_type))
            }
            ConstantForm::Offset(base, offset) => {
                format!("getelementptr inbounds (i8, {}, {})", typed(base), typed(offset))
            }
        }
    }

    fn ir_type(&self, id: TypeId) -> &IrType {
        &self.module.types.items()[id.0]
    }

    fn type_name(&self, id: TypeId) -> String {
        match self.ir_type(id) {
            IrType::Void => "void".to_owned(),
            IrType::Integer(bits) => format!("i{bits}"),
            IrType::Pointer(to) => format!("{}*", self.type_name(*to)),
            IrType::Array(count, element) => format!("[{count} x {}]", self.type_name(*element)),
            IrType::Packed(fields) => format!("<{{ {} }}>", self.type_list(fields)),
            IrType::Struct(fields) => format!("{{ {} }}", self.type_list(fields)),
            IrType::Function(result, parameters) => {
                format!("{} ({})", self.type_name(*result), self.type_list(parameters))
            }
        }
    }

    fn type_list(&self, types: &[TypeId]) -> String {
        types.iter().map(|&id| self.type_name(id)).collect::<Vec<_>>().join(", ")
    }
}

fn label(label: BlockLabel) -> String {
    format!("block{}", label.0)
}

fn conversion(conversion: Conversion) -> &'static str {
    match conversion {
        Conversion::Truncate => "trunc",
        Conversion::ZeroExtend => "zext",
        Conversion::SignExtend => "sext",
        Conversion::Bitcast => "bitcast",
    }
}

fn binary_operation(operation: BinaryOperation) -> &'static str {
    match operation {
        BinaryOperation::ShiftRight => "lshr",
        BinaryOperation::And => "and",
    }
}

fn predicate(predicate: Predicate) -> &'static str {
    match predicate {
        Predicate::Equal => "eq",
        Predicate::NotEqual => "ne",
        Predicate::Below => "ult",
    }
}

/// Returns `@` and the name. Names that are empty, begin with a digit or contain special characters are quoted.
fn symbol(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-$._".contains(&byte);
    let is_number = name.starts_with(|first: char| first.is_ascii_digit());
    let is_bare = !name.is_empty() && !is_number && name.bytes().all(is_plain);
    if is_bare { format!("@{name}") } else { format!("@{}", quoted(name)) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        let mut escaped = Vec::new();
        escape(byte, &mut escaped);
        quoted.extend(escaped.into_iter().map(char::from));
    }
    quoted + "\""
}

/// Appends a byte of a string.
fn escape(byte: u8, text: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\') {
        text.push(byte);
    } else {
        text.extend([b'\\', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}
