//! Operands.

use std::fmt::{self, Write};

use crate::ast::{Address, AddressBase, Body, Function, Operand, Reg, Symbol};

pub(super) fn write_operand(out: &mut String, function: &Function, body: &Body, operand: &Operand) -> fmt::Result {
    let name = |reg: Reg| &*body.register(reg).name;
    match operand {
        Operand::Reg(reg) => out.push_str(name(*reg)),
        Operand::NotReg(reg) => write!(out, "!{}", name(*reg))?,
        Operand::Pair(first, second) => write!(out, "{}|{}", first.map_or("_", name), second.map_or("_", name))?,
        Operand::Sink => out.push('_'),
        Operand::Special(special) => out.push_str(&special.name()),
        Operand::Int(value) => write!(out, "{value}")?,
        Operand::F32(bits) => write!(out, "0f{bits:08X}")?,
        Operand::F64(bits) => write!(out, "0d{bits:016X}")?,
        Operand::Vector(items) => write_items(out, function, body, items, ['{', '}'])?,
        Operand::List(items) => write_items(out, function, body, items, ['(', ')'])?,
        Operand::Address(address) => {
            out.push('[');
            write_address(out, function, body, address)?;
            out.push(']');
        }
        Operand::TensorAddress(address, coordinates) => {
            out.push('[');
            write_address(out, function, body, address)?;
            out.push_str(", ");
            write_items(out, function, body, coordinates, ['{', '}'])?;
            out.push(']');
        }
        Operand::Symbol { symbol, offset } => {
            out.push_str(symbol_name(function, body, symbol));
            write_offset(out, *offset)?;
        }
        Operand::Label(label) => out.push_str(&body.labels[label.0 as usize].name),
        Operand::Targets(list) => out.push_str(&body.targets[list.0 as usize].name),
        Operand::Prototype(prototype) => out.push_str(&body.prototypes[prototype.0 as usize].name),
    }
    Ok(())
}

fn write_items(
    out: &mut String,
    function: &Function,
    body: &Body,
    items: &[Operand],
    [open, close]: [char; 2],
) -> fmt::Result {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write_operand(out, function, body, item)?;
    }
    out.push(close);
    Ok(())
}

fn write_address(out: &mut String, function: &Function, body: &Body, address: &Address) -> fmt::Result {
    match &address.base {
        AddressBase::Reg(reg) => out.push_str(&body.register(*reg).name),
        AddressBase::Symbol(symbol) => out.push_str(symbol_name(function, body, symbol)),
        AddressBase::Absolute => return write!(out, "{}", address.offset),
    }
    write_offset(out, address.offset)
}

/// `+offset`, or nothing for 0.
pub(super) fn write_offset(out: &mut String, offset: i64) -> fmt::Result {
    if offset == 0 { Ok(()) } else { write!(out, "+{offset}") }
}

fn symbol_name<'tree>(function: &'tree Function, body: &'tree Body, symbol: &'tree Symbol) -> &'tree str {
    match symbol {
        Symbol::Local(index) => &body.variables[*index as usize].name,
        Symbol::Param(index) => &function.params[*index as usize].name,
        Symbol::Return(index) => &function.returns[*index as usize].name,
        Symbol::Module(name) => name,
    }
}
