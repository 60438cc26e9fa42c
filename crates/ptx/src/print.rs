//! PTX text from a parse tree.

mod body;
mod operand;

use std::{
    collections::HashSet,
    fmt::{self, Write},
};

use crate::ast::{
    Body, Directive, Function, FunctionKind, Initialiser, Instruction, Linkage, Module, Operand, Param, Shape, Variable,
};

/// The text of `module`.
///
/// Equal modules print to equal bytes, whatever the line numbers they carry.
///
/// Declarations of functions come first, then variables, then definitions, as LLVM orders them. A
/// function whose address is the value of a variable is declared, for names are declared before
/// they are used.
#[must_use]
pub fn print(module: &Module) -> String {
    let mut text = String::new();
    // A `String` takes whatever is written to it.
    let written = write_module(&mut text, module);
    debug_assert!(written.is_ok());
    text
}

/// The text of one instruction, guard and semicolon included, for reports.
#[must_use]
pub fn print_instruction(function: &Function, body: &Body, instruction: &Instruction) -> String {
    let mut text = String::new();
    let written = body::write_bare(&mut text, function, body, instruction);
    debug_assert!(written.is_ok());
    text
}

/// The text of one operand, for messages.
pub(crate) fn operand_text(function: &Function, body: &Body, operand: &Operand) -> String {
    let mut text = String::new();
    let written = operand::write_operand(&mut text, function, body, operand);
    debug_assert!(written.is_ok());
    text
}

fn write_module(out: &mut String, module: &Module) -> fmt::Result {
    writeln!(out, ".version {}.{}", module.version.0, module.version.1)?;
    writeln!(out, ".target {}", module.target.join(", "))?;
    writeln!(out, ".address_size {}", module.address_size)?;
    for (index, path) in &module.files {
        writeln!(out, ".file {index} \"{path}\"")?;
    }
    let (declared, defined): (Vec<_>, Vec<_>) = module.functions.iter().partition(|function| function.body.is_none());
    for function in &declared {
        out.push('\n');
        write_function(out, function)?;
    }
    let known: HashSet<&str> = declared.iter().map(|function| &*function.name).collect();
    let pointees: HashSet<&str> = module.globals.iter().flat_map(pointees).collect();
    for function in &defined {
        if pointees.contains(&*function.name) && !known.contains(&*function.name) {
            out.push('\n');
            write_head(out, function)?;
            out.push_str(if function.directives.contains(&Directive::NoReturn) { "\n.noreturn\n;\n" } else { "\n;\n" });
        }
    }
    for variable in &module.globals {
        out.push('\n');
        write_variable(out, variable)?;
    }
    for function in defined {
        out.push('\n');
        write_function(out, function)?;
    }
    Ok(())
}

/// The names whose addresses a variable holds.
fn pointees(variable: &Variable) -> impl Iterator<Item = &str> {
    variable.initialiser.iter().filter_map(|value| match value {
        Initialiser::Address { symbol, .. } => Some(&**symbol),
        _ => None,
    })
}

fn write_linkage(out: &mut String, linkage: Linkage) -> fmt::Result {
    if linkage == Linkage::Internal { Ok(()) } else { write!(out, ".{} ", linkage.name()) }
}

/// A declaration and its line end.
fn write_variable(out: &mut String, variable: &Variable) -> fmt::Result {
    write_linkage(out, variable.linkage)?;
    write!(out, ".{} ", variable.space.name())?;
    if let Some(align) = variable.align {
        write!(out, ".align {align} ")?;
    }
    if variable.lanes > 1 {
        write!(out, ".v{} ", variable.lanes)?;
    }
    write!(out, ".{} {}", variable.ty.name(), variable.name)?;
    match variable.shape {
        Shape::Scalar => {}
        Shape::Array(count) => write!(out, "[{count}]")?,
        Shape::Unsized => out.push_str("[]"),
    }
    let braces = variable.shape != Shape::Scalar || variable.initialiser.len() > 1;
    if !variable.initialiser.is_empty() {
        out.push_str(if braces { " = {" } else { " = " });
        for (index, value) in variable.initialiser.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            write_initialiser(out, value)?;
        }
        if braces {
            out.push('}');
        }
    }
    out.push_str(";\n");
    Ok(())
}

fn write_initialiser(out: &mut String, value: &Initialiser) -> fmt::Result {
    match value {
        Initialiser::Int(value) => write!(out, "{value}"),
        Initialiser::F32(bits) => write!(out, "0f{bits:08X}"),
        Initialiser::F64(bits) => write!(out, "0d{bits:016X}"),
        Initialiser::Address { symbol, offset, generic, mask } => {
            if let Some(mask) = mask {
                write!(out, "0x{mask:X}(")?;
            }
            if *generic {
                write!(out, "generic({symbol})")?;
            } else {
                out.push_str(symbol);
            }
            operand::write_offset(out, *offset)?;
            if mask.is_some() {
                out.push(')');
            }
            Ok(())
        }
    }
}

/// Name and parameters of a function.
fn write_head(out: &mut String, function: &Function) -> fmt::Result {
    write_linkage(out, function.linkage)?;
    out.push_str(if function.kind == FunctionKind::Entry { ".entry " } else { ".func " });
    if !function.returns.is_empty() {
        write_params(out, &function.returns, " ")?;
        out.push(' ');
    }
    out.push_str(&function.name);
    write_params(out, &function.params, "\n\t")
}

fn write_function(out: &mut String, function: &Function) -> fmt::Result {
    write_head(out, function)?;
    for directive in &function.directives {
        out.push('\n');
        write_directive(out, directive)?;
    }
    match &function.body {
        Some(body) => {
            out.push('\n');
            body::write_body(out, function, body)
        }
        None => {
            out.push_str("\n;\n");
            Ok(())
        }
    }
}

fn write_directive(out: &mut String, directive: &Directive) -> fmt::Result {
    let join = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match directive {
        Directive::MaxThreads(extent) => write!(out, ".maxntid {}", join(extent)),
        Directive::RequiredThreads(extent) => write!(out, ".reqntid {}", join(extent)),
        Directive::MinBlocks(count) => write!(out, ".minnctapersm {count}"),
        Directive::MaxRegisters(count) => write!(out, ".maxnreg {count}"),
        Directive::NoReturn => write!(out, ".noreturn"),
        Directive::Pragma(text) => write!(out, ".pragma \"{text}\";"),
        Directive::Other(name, numbers) if numbers.is_empty() => write!(out, ".{name}"),
        Directive::Other(name, numbers) => write!(out, ".{name} {}", join(numbers)),
    }
}

/// A parenthesised list, each parameter after `lead`.
fn write_params(out: &mut String, params: &[Param], lead: &str) -> fmt::Result {
    out.push('(');
    for (index, param) in params.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(if index == 0 && lead == " " { "" } else { lead });
        out.push_str(".param ");
        if let Some(align) = param.align {
            write!(out, ".align {align} ")?;
        }
        write!(out, ".{} ", param.ty.name())?;
        if let Some(pointer) = param.pointer {
            out.push_str(".ptr ");
            if let Some(space) = pointer.space {
                write!(out, ".{} ", space.name())?;
            }
            if let Some(align) = pointer.align {
                write!(out, ".align {align} ")?;
            }
        }
        out.push_str(&param.name);
        if let Some(count) = param.count {
            write!(out, "[{count}]")?;
        }
    }
    if !params.is_empty() && lead != " " {
        out.push('\n');
    }
    out.push(')');
    Ok(())
}
