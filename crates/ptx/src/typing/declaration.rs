//! Variables and functions on their own.
//!
//! Declarations of one name are checked against each other.

use super::{
    Mistake, Reason,
    gates::Release,
    symbols::{Named, Symbols, is_there},
    types::{Meaning, meaning},
};
use crate::ast::{
    Body, Directive, Function, FunctionKind, Initialiser, Linkage, Module, Operand, Param, Shape, Space, TargetKind,
    Type, Variable,
};

/// Most bytes of a vector.
const VECTOR: u64 = 16;
/// Most bytes of a kernel's parameters, and the most before PTX 8.1 and `sm_70`.
const PARAMETERS: (u64, u64) = (32_764, 4352);
/// Most alignment of a device function's parameter.
const PARAMETER_ALIGN: u32 = 128;

/// Reports every mistake of the declarations of `module`.
pub(super) fn check(module: &Module, symbols: &Symbols<'_>, release: Release, mistakes: &mut Vec<Mistake>) {
    let mut report = |line: u32, name: &str, fault: Fault| {
        let reason = match fault {
            Fault::Of(fault) => Reason::Declaration { name: name.to_owned(), fault },
            Fault::Lacking(reason) => reason,
        };
        mistakes.push(Mistake { line, reason });
    };
    for variable in &module.globals {
        for fault in module_variable(variable).into_iter().chain(variable_faults(variable, release, symbols)) {
            report(variable.line, &variable.name, fault);
        }
    }
    for function in &module.functions {
        for fault in function_faults(function, release) {
            report(function.line, &function.name, fault);
        }
        let Some(body) = &function.body else { continue };
        for variable in &body.variables {
            for fault in variable_faults(variable, release, symbols) {
                report(variable.line, &variable.name, fault);
            }
        }
        for fault in body_faults(body, release) {
            report(function.line, &function.name, fault);
        }
    }
}

/// A fault of a declaration.
enum Fault {
    Of(&'static str),
    Lacking(Reason),
}

/// A fault of a variable that is due to its module scope.
fn module_variable(variable: &Variable) -> Option<Fault> {
    if matches!(variable.space, Space::Local | Space::Param) {
        return Some(Fault::Of("expected .global, .const or .shared at module scope"));
    }
    let common = variable.linkage == Linkage::Common && variable.space != Space::Global;
    common.then_some(Fault::Of(".common is for .global variables"))
}

/// Faults of a variable of any scope.
fn variable_faults(variable: &Variable, release: Release, symbols: &Symbols<'_>) -> Vec<Fault> {
    let external = variable.linkage == Linkage::Extern;
    let initialised = !variable.initialiser.is_empty();
    let packed = variable.ty == Type::F16x2 || variable.lanes > 1;
    let faults = [
        (variable.ty == Type::Pred, "predicates live in registers"),
        (variable.lanes > 1 && variable.element_bytes() > VECTOR, "vectors have at most 16 bytes"),
        (!external && matches!(variable.shape, Shape::Unsized | Shape::Array(0)), "expected a number of elements"),
        (variable.space == Space::Param && packed, "a parameter is no vector"),
        (initialised && external, "an external variable has no value here"),
        (
            initialised && !matches!(variable.space, Space::Global | Space::Const),
            "only .global and .const variables have initial values",
        ),
        (initialised && matches!(variable.ty, Type::F16 | Type::F16x2), "values of this type cannot be written"),
    ];
    let found = faults.into_iter().filter_map(|(found, fault)| found.then_some(Fault::Of(fault)));
    let values = variable.initialiser.iter().find_map(|value| value_fault(variable.ty, value, release, symbols));
    found.chain(values).chain(type_lacks(variable.ty, release)).collect()
}

/// A fault of one initial value.
fn value_fault(ty: Type, value: &Initialiser, release: Release, symbols: &Symbols<'_>) -> Option<Fault> {
    let of_bits = meaning(ty) == Meaning::Bits;
    let Initialiser::Address { symbol, offset, generic, mask } = value else {
        let integer = matches!(value, Initialiser::Int(_));
        let fits = of_bits || integer == (meaning(ty) == Meaning::Integer);
        return (!fits).then_some(Fault::Of("expected an initial value of the variable's type"));
    };
    match symbols.of_module(symbol) {
        Some(Named::Variable(Space::Global | Space::Const)) => {}
        Some(Named::Function(function)) if !is_there(function) => {
            return Some(Fault::Of("expected the address of a function of this module"));
        }
        Some(Named::Function(_)) if *generic || *offset != 0 || mask.is_some() => {
            return Some(Fault::Of("expected the address of a function as it is"));
        }
        Some(Named::Function(_)) => {}
        _ => return Some(Fault::Of("expected the address of a .global or .const variable, or of a function")),
    }
    let Some(mask) = mask else {
        let fits = matches!(ty, Type::U32 | Type::U64);
        return (!fits).then_some(Fault::Of("expected .u64 or .u32 to hold an address"));
    };
    if !(0..8).any(|byte| *mask == 0xff << (8 * byte)) {
        return Some(Fault::Of("expected a mask of one byte"));
    }
    if ty != Type::U8 {
        return Some(Fault::Of("expected .u8 to hold a byte of an address"));
    }
    release.lacks((7, 1), 0, || "a byte of an address".to_owned()).map(Fault::Lacking)
}

/// A feature that a type needs and the module lacks.
fn type_lacks(ty: Type, release: Release) -> Option<Fault> {
    let (version, target) = match ty {
        Type::B128 => ((8, 3), 70),
        Type::F16x2 => ((6, 0), 53),
        _ => return None,
    };
    release.lacks(version, target, || format!(".{}", ty.name())).map(Fault::Lacking)
}

fn function_faults(function: &Function, release: Release) -> Vec<Fault> {
    let entry = function.kind == FunctionKind::Entry;
    let params = || function.params.iter().chain(&function.returns);
    let has = |wanted: fn(&Directive) -> bool| function.directives.iter().any(wanted);
    let named =
        |wanted: &str| function.directives.iter().any(|d| matches!(d, Directive::Other(name, _) if **name == *wanted));
    let noreturns = function.directives.iter().filter(|directive| **directive == Directive::NoReturn).count();
    let bounded = has(|d| matches!(d, Directive::MaxThreads(_))) && has(|d| matches!(d, Directive::RequiredThreads(_)));
    let faults = [
        (function.body.is_some() && function.linkage == Linkage::Extern, "an external function has no body here"),
        (function.linkage == Linkage::Common, ".common is for variables"),
        (entry && !function.returns.is_empty(), "a kernel returns nothing"),
        (function.returns.len() > 1, "a function returns one value at most"),
        (params().any(|param| param.ty == Type::Pred), "predicates live in registers"),
        (params().any(|param| param.ty == Type::F16x2), "a parameter is no vector"),
        (params().any(|param| param.count == Some(0)), "expected a number of elements"),
        (!entry && params().any(|param| param.pointer.is_some()), ".ptr is for parameters of kernels"),
        (!entry && params().any(|param| &*param.name == "_"), "expected a name for each parameter"),
        (!entry && params().any(is_over_aligned), "parameters are aligned to at most 128 bytes"),
        (entry && has(|directive| *directive == Directive::NoReturn), ".noreturn is for device functions"),
        (
            has(|directive| *directive == Directive::NoReturn) && !function.returns.is_empty(),
            "a function that never returns has no value to return",
        ),
        (!entry && has(|directive| *directive != Directive::NoReturn), "launch bounds are for kernels"),
        (function.body.is_none() && has(|directive| *directive != Directive::NoReturn), "launch bounds need a body"),
        (noreturns > 1, ".noreturn stands twice"),
        (bounded, ".maxntid and .reqntid exclude each other"),
        (
            named("reqnctapercluster") && named("maxclusterrank"),
            ".reqnctapercluster and .maxclusterrank exclude each other",
        ),
        (has(has_zero), "expected numbers above 0"),
        (has(is_unknown), "unknown directive"),
    ];
    let found = faults.into_iter().filter_map(|(found, fault)| found.then_some(Fault::Of(fault)));
    let types = params().filter_map(|param| type_lacks(param.ty, release));
    let directives = function.directives.iter().filter_map(|directive| directive_lacks(directive, release));
    let size = if entry { size_fault(function, release) } else { None };
    found.chain(types).chain(directives).chain(size).collect()
}

fn is_over_aligned(param: &Param) -> bool {
    param.align.is_some_and(|align| align > PARAMETER_ALIGN)
}

fn has_zero(directive: &Directive) -> bool {
    match directive {
        Directive::MaxThreads(extent) | Directive::RequiredThreads(extent) => extent.contains(&0),
        Directive::MinBlocks(count) | Directive::MaxRegisters(count) => *count == 0,
        Directive::NoReturn | Directive::Pragma(_) | Directive::Other(..) => false,
    }
}

/// Whether a directive is not one of those that kernels may have.
fn is_unknown(directive: &Directive) -> bool {
    match directive {
        Directive::Other(name, numbers) => match &**name {
            "explicitcluster" => !numbers.is_empty(),
            "maxclusterrank" => numbers.len() != 1,
            "reqnctapercluster" => !(1..=3).contains(&numbers.len()),
            _ => true,
        },
        _ => false,
    }
}

fn directive_lacks(directive: &Directive, release: Release) -> Option<Fault> {
    let (what, version, target) = match directive {
        Directive::NoReturn => ("noreturn", (6, 4), 0),
        Directive::Other(name, _) => (&**name, (7, 8), 90),
        _ => return None,
    };
    release.lacks(version, target, || format!("`.{what}`")).map(Fault::Lacking)
}

/// A fault of the size of a kernel's parameters.
fn size_fault(function: &Function, release: Release) -> Option<Fault> {
    let size = function.param_layout().last().map_or(0, |last| last.offset + last.size);
    if size > PARAMETERS.0 {
        return Some(Fault::Of("parameters take at most 32764 bytes"));
    }
    let large = size > PARAMETERS.1;
    if large {
        release.lacks((8, 1), 70, || "parameters above 4352 bytes".to_owned()).map(Fault::Lacking)
    } else {
        None
    }
}

/// Faults of the registers, target lists and prototypes of a body.
fn body_faults(body: &Body, release: Release) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut registers = body.scopes.iter().flat_map(|scope| &scope.registers);
    faults.extend(registers.find_map(|registers| type_lacks(registers.ty, release)));
    for list in &body.targets {
        let wrong = |target: &Operand| match list.kind {
            TargetKind::Branch => !matches!(target, Operand::Label(_)),
            TargetKind::Call => !matches!(target, Operand::Symbol { .. }),
        };
        if list.targets.iter().any(wrong) {
            faults.push(Fault::Of("expected labels as targets of branches, functions as targets of calls"));
        }
    }
    for prototype in body.prototypes.iter().filter(|prototype| prototype.noreturn) {
        if !prototype.returns.is_empty() {
            faults.push(Fault::Of("a function that never returns has no value to return"));
        }
        faults.extend(directive_lacks(&Directive::NoReturn, release));
    }
    faults
}
