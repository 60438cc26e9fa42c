//! Calls, checked against what they call.

use super::{
    Reason,
    operand::Operands,
    symbols::{Named, is_there},
    types::{Meaning, holds, meaning},
};
use crate::ast::{FunctionKind, Instruction, Operand, Param, Shape, Space, Symbol, Type, Variable};

/// Device functions that need no definition.
const SYSTEM: [&str; 4] = ["__assertfail", "free", "malloc", "vprintf"];

/// Checks the operands of a call: `(results), callee, (arguments), prototype`.
pub(super) fn check(at: &Operands<'_>) -> Option<Reason> {
    let operands = &at.instruction.operands;
    let list = |place: usize| match operands.get(place) {
        Some(Operand::List(items)) => Some(items.as_slice()),
        _ => None,
    };
    let results = list(0);
    let callee = usize::from(results.is_some());
    let arguments = list(callee + 1);
    let last = callee + 1 + usize::from(arguments.is_some());
    let (results, arguments) = (results.unwrap_or_default(), arguments.unwrap_or_default());
    let Some(called) = operands.get(callee) else {
        return Some(Reason::Operands { expected: "1 to 4".to_owned(), got: operands.len() });
    };
    let (returns, params) = match (called, operands.get(last)) {
        (Operand::Symbol { symbol, offset: 0 }, None) => match at.symbols.named(at.body, symbol) {
            Some(Named::Function(function))
                if function.kind == FunctionKind::Func && (is_there(function) || SYSTEM.contains(&&*function.name)) =>
            {
                (&function.returns, &function.params)
            }
            _ => return Some(at.refuse(callee, "a device function of this module".to_owned())),
        },
        (Operand::Reg(reg), Some(Operand::Prototype(prototype))) => {
            let ty = at.type_of(*reg);
            if !(holds(ty, Type::U64) || holds(ty, Type::U32)) {
                return Some(at.refuse(callee, "an integer register of 64 or 32 bits".to_owned()));
            }
            let prototype = &at.body.prototypes[prototype.0 as usize];
            if prototype.at > at.index {
                return Some(at.refuse(last, "a prototype that stands before".to_owned()));
            }
            (&prototype.returns, &prototype.params)
        }
        (Operand::Reg(_), Some(_)) => return Some(at.refuse(last, "a prototype".to_owned())),
        _ => return Some(at.refuse(callee, "a device function, or a register and a prototype".to_owned())),
    };
    if operands.len() > last + 1 {
        return Some(Reason::Operands { expected: (last + 1).to_string(), got: operands.len() });
    }
    let lists = [(results, returns, 0, "results"), (arguments, params, callee + 1, "arguments")];
    lists.into_iter().find_map(|(items, params, place, what)| {
        if items.len() != params.len() {
            let expected = format!("{} {what}", params.len());
            return Some(Reason::Operand { number: place + 1, expected, got: items.len().to_string() });
        }
        let written = what == "results";
        let wrong = items.iter().zip(params).find(|(item, param)| !passes(at, item, param, written))?;
        let expected = format!("{what} that fit, `{}` as .{}{}", wrong.1.name, wrong.1.ty.name(), array(wrong.1));
        Some(Reason::Operand { number: place + 1, expected, got: at.text(wrong.0) })
    })
}

/// The variables that a call puts its results into.
pub(super) fn results(instruction: &Instruction) -> impl Iterator<Item = u32> + '_ {
    let lists = instruction.operands.first().filter(|_| instruction.opcode.base() == "call").into_iter();
    let items = lists.filter_map(|operand| match operand {
        Operand::List(items) => Some(items),
        _ => None,
    });
    items.flatten().filter_map(|item| match item {
        Operand::Symbol { symbol: Symbol::Local(index), .. } => Some(*index),
        _ => None,
    })
}

fn array(param: &Param) -> String {
    param.count.map_or_else(String::new, |count| format!("[{count}]"))
}

/// Whether `item` may be passed for `param`, or take it.
fn passes(at: &Operands<'_>, item: &Operand, param: &Param, written: bool) -> bool {
    let scalar = param.count.is_none();
    match item {
        Operand::Reg(reg) => scalar && holds(at.type_of(*reg), param.ty),
        Operand::Sink => written && scalar,
        Operand::Int(_) => !written && scalar && matches!(meaning(param.ty), Meaning::Bits | Meaning::Integer),
        Operand::F32(_) | Operand::F64(_) => {
            !written && scalar && matches!(meaning(param.ty), Meaning::Bits | Meaning::Float)
        }
        Operand::Symbol { symbol: Symbol::Local(index), offset: 0 } => {
            let variable = &at.body.variables[*index as usize];
            variable.space == Space::Param && matches_param(variable, param)
        }
        _ => false,
    }
}

fn matches_param(variable: &Variable, param: &Param) -> bool {
    let alike = match (variable.shape, param.count) {
        (Shape::Scalar, None) => holds(variable.ty, param.ty),
        (Shape::Array(_), Some(_)) => variable.bytes() == param.bytes(),
        _ => false,
    };
    alike && variable.alignment().max(variable.ty.bytes()) == param.alignment().max(param.ty.bytes())
}
