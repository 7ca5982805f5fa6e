//! Handwritten plans that use every feature of a plan, for the programs in `registration.c` and `unwinding.c`.

use std::path::Path;

use anyhow::{Context, Result};
use fatbin_core::base::content::Content;
use fatbin_core::base::io::Sink;
use fatbin_core::base::io::{FileSet, Output, OutputKind};
use fatbin_core::host::{
    self, Call, Comparison, Data, Definition, Field, Host, LoadedField, Local, ObjectPlan, Part, PlanSection,
    SectionKind, Step, SymbolAddress, SymbolId, Value, Width,
};

/// Writes the object that `plan` describes.
pub fn emit(plan: &ObjectPlan, triple: &str, path: &Path) -> Result<()> {
    let mut sink = Sink::new(&[]);
    host::emit(plan, triple.parse::<Host>()?, &mut sink).context("emission")?;
    let mut output = Output::create(FileSet::new().output(path, OutputKind::Code)?)?;
    sink.write_to(&mut output)?;
    Ok(output.commit([])?)
}

/// Returns a plan that registers as CUDA and HIP do, from a constructor, and lists functions for `judge` to call.
pub fn registration() -> ObjectPlan<'static> {
    let mut plan = Builder::default();
    let entries =
        Bounds { begin: plan.hidden("__start_llvm_offload_entries"), end: plan.hidden("__stop_llvm_offload_entries") };
    let image = plan.bytes(".fatbin", b"<skip>the fat binary\0");
    let wrapper = [Field::U32(0xba55_ed50), Field::U32(1), Field::Pointer(image.plus(6)), Field::U32(0), Field::U32(0)];
    let wrapper = plan.fields(".fatbin_wrapper", wrapper.to_vec());
    let handle = plan.fields(".handle", vec![Field::U32(0); 2]);

    let unregister =
        plan.function("unregister", |plan| vec![plan.call("close_binary", vec![Value::Variable(handle.start())])]);
    let register = plan.function("register", |plan| {
        vec![
            plan.call_for(Local::Handle, "open_binary", vec![Value::Address(wrapper.start())]),
            Step::Store { to: handle.start(), from: Local::Handle },
            entries.each(vec![when(KIND, Comparison::Equal(2), plan.registration_of_an_entry())]),
            plan.call("finish", vec![HANDLE]),
            plan.call("atexit", vec![Value::Address(unregister.start())]),
        ]
    });
    plan.constructor(register);

    let numbers = plan.function("numbers", |plan| {
        let numbers = [i32::MIN, i32::MAX, -1, 0x1234_5678, -0x1234_5678, 2047, -2048, 65535, -65536, 2048];
        let backwards = numbers.iter().rev().copied();
        vec![
            plan.call("ten_numbers", numbers.map(Value::Integer).to_vec()),
            plan.call("ten_numbers", backwards.map(Value::Integer).collect()),
        ]
    });
    let fields = plan.function("fields_of_entries", |plan| {
        vec![
            plan.call_for(Local::Handle, "handle_again", vec![]),
            entries.each(vec![plan.call(
                "fields",
                vec![
                    HANDLE,
                    Value::Local(Local::Entry),
                    KIND,
                    FLAGS,
                    bits(0, 5),
                    bits(31, 1),
                    NAME,
                    DATA,
                    Value::Variable(handle.start()),
                    Value::Address(image.plus(10)),
                ],
            )]),
        ]
    });
    let comparisons = plan.function("comparisons", |plan| {
        vec![
            entries.each(vec![
                when(DATA, Comparison::Equal(-7), vec![plan.reached(1)]),
                when(
                    DATA,
                    Comparison::NotEqual(-7),
                    vec![plan.reached(2), when(SIZE, Comparison::Equal(0), vec![plan.reached(3)])],
                ),
                // All bits of the comparison count: 1 << 33 is not 0.
                when(SIZE, Comparison::NotEqual(0), vec![plan.reached(4)]),
                when(FLAGS, Comparison::Equal(-8), vec![plan.reached(5)]),
            ]),
            Bounds { begin: entries.end, end: entries.end }.each(vec![plan.reached(6)]),
            Bounds { begin: entries.end, end: entries.begin }.each(vec![plan.reached(7)]),
        ]
    });
    // Calls from one function of the object to another.
    let calling = plan.function("calling", |plan| {
        let callee = plan.function("called", |plan| vec![plan.call("handle_again", vec![])]);
        vec![Step::call(callee, vec![]), Step::call(callee, vec![])]
    });
    plan.judged(&[numbers, fields, comparisons, calling]);
    plan.0
}

/// Returns a plan with a function to unwind through while both locals are in use, and a constructor.
pub fn unwinding() -> ObjectPlan<'static> {
    let mut plan = Builder::default();
    let one_round = plan.bytes(".one_round", &[0; 8]);
    let function = plan.function("function", |plan| {
        vec![
            plan.call_for(Local::Handle, "result", vec![]),
            Step::ForEach {
                element: Local::Entry,
                begin: one_round.start(),
                end: one_round.plus(8),
                size: 8,
                body: vec![plan.call("through", (0..10).map(Value::Integer).collect())],
            },
        ]
    });
    let constructor = plan.function("constructor", |plan| vec![plan.call("in_constructor", vec![])]);
    plan.constructor(constructor);
    plan.judged(&[function, constructor]);
    plan.0
}

/// Bounds of the offload entries.
#[derive(Clone, Copy)]
struct Bounds {
    begin: SymbolAddress,
    end: SymbolAddress,
}

impl Bounds {
    fn each(self, body: Vec<Step>) -> Step {
        Step::ForEach { element: Local::Entry, begin: self.begin, end: self.end, size: 56, body }
    }
}

const HANDLE: Value = Value::Local(Local::Handle);

/// Fields of an offload entry; its layout is in `registration.c`.
const KIND: Value = field(10, Width::U16, Part::All);
const FLAGS: Value = field(12, Width::U32, Part::All);
const ADDRESS: Value = field(16, Width::U64, Part::All);
const NAME: Value = field(24, Width::U64, Part::All);
const SIZE: Value = field(32, Width::U64, Part::All);
const DATA: Value = field(40, Width::U64, Part::SignedLow32);
const AUX_ADDRESS: Value = field(48, Width::U64, Part::All);

const fn bits(first: u32, count: u32) -> Value {
    field(12, Width::U32, Part::Bits { first, count })
}

const fn field(offset: u32, width: Width, part: Part) -> Value {
    Value::Field(LoadedField { of: Local::Entry, offset, width, part })
}

fn when(value: Value, is: Comparison, body: Vec<Step>) -> Step {
    Step::When { value, is, body }
}

/// Builder of a plan with shortcuts for common parts.
#[derive(Default)]
struct Builder(ObjectPlan<'static>);

impl Builder {
    fn section(&mut self, name: &str, kind: SectionKind, size: u64, data: Data<'static>) -> SymbolId {
        let section = self.0.section(PlanSection::new(name, kind, 8, data));
        self.0.symbol(name, Definition::Data { section, offset: 0, size })
    }

    fn bytes(&mut self, name: &str, bytes: &'static [u8]) -> SymbolId {
        self.section(name, SectionKind::ReadOnly, bytes.len() as u64, Data::Bytes(Content::from(bytes)))
    }

    fn fields(&mut self, name: &str, fields: Vec<Field>) -> SymbolId {
        let size = fields.iter().map(|field| if matches!(field, Field::Pointer(_)) { 8 } else { 4 }).sum();
        self.section(name, SectionKind::Writable, size, Data::Fields(fields))
    }

    fn constructor(&mut self, function: SymbolId) {
        let data = Data::Fields(vec![Field::Pointer(function.start())]);
        self.section(".init_array", SectionKind::Constructors(101), 8, data);
    }

    /// Adds the section that the C programs read between `__start_judged` and `__stop_judged`.
    fn judged(&mut self, functions: &[SymbolId]) {
        self.fields("judged", functions.iter().map(|function| Field::Pointer(function.start())).collect());
    }

    fn hidden(&mut self, name: &str) -> SymbolAddress {
        self.0.symbol(name, Definition::UndefinedHidden).start()
    }

    fn undefined(&mut self, name: &str) -> SymbolId {
        match self.0.symbols.iter().position(|symbol| symbol.name == name) {
            Some(place) => SymbolId(place),
            None => self.0.symbol(name, Definition::Undefined),
        }
    }

    fn function(&mut self, name: &str, steps: impl FnOnce(&mut Self) -> Vec<Step>) -> SymbolId {
        let steps = steps(self);
        self.0.function(name, steps)
    }

    fn call(&mut self, callee: &str, arguments: Vec<Value>) -> Step {
        Step::call(self.undefined(callee), arguments)
    }

    fn call_for(&mut self, result: Local, callee: &str, arguments: Vec<Value>) -> Step {
        Step::Call(Call { callee: self.undefined(callee), arguments, result: Some(result) })
    }

    fn reached(&mut self, place: i32) -> Step {
        self.call("reached", vec![Value::Integer(place), Value::Local(Local::Entry)])
    }

    /// Returns the steps of CUDA and HIP for an entry of their kind, for functions and two types of variables.
    fn registration_of_an_entry(&mut self) -> Vec<Step> {
        let mut function = vec![HANDLE, ADDRESS, NAME, NAME, Value::Integer(-1)];
        function.extend([Value::Integer(0); 5]);
        let (is_extern, is_constant) = (bits(3, 1), bits(4, 1));
        let variable = vec![HANDLE, ADDRESS, NAME, NAME, is_extern, SIZE, is_constant, Value::Integer(0)];
        let managed = vec![HANDLE, AUX_ADDRESS, ADDRESS, NAME, SIZE, DATA];
        let of_type = |number, call| when(bits(0, 3), Comparison::Equal(number), vec![call]);
        let variables = vec![
            of_type(0, self.call("register_variable", variable)),
            of_type(1, self.call("register_managed", managed)),
        ];
        vec![
            when(SIZE, Comparison::Equal(0), vec![self.call("register_function", function)]),
            when(SIZE, Comparison::NotEqual(0), variables),
        ]
    }
}
