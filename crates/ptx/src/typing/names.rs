//! Declarations of one name, checked against each other.

use std::collections::{HashMap, hash_map::Entry};

use super::{Mistake, Reason};
use crate::ast::{Directive, Function, Linkage, Module, Param, Shape, Space, Variable};

/// Reports declarations that contradict earlier ones of the same name.
pub(super) fn check(module: &Module, mistakes: &mut Vec<Mistake>) {
    let mut report = |line: u32, name: &str, fault: Option<&'static str>| {
        let reason = fault.map(|fault| Reason::Declaration { name: name.to_owned(), fault });
        mistakes.extend(reason.map(|reason| Mistake { line, reason }));
    };
    let mut variables: HashMap<&str, &Variable> = HashMap::new();
    for variable in &module.globals {
        match variables.entry(&variable.name) {
            Entry::Vacant(place) => {
                place.insert(variable);
            }
            Entry::Occupied(mut earlier) => {
                report(variable.line, &variable.name, redeclared(earlier.get(), variable));
                if variable.linkage != Linkage::Extern {
                    earlier.insert(variable);
                }
            }
        }
    }
    let remaining =
        |variable: &&Variable| variables.get(&*variable.name).is_some_and(|last| std::ptr::eq(*last, *variable));
    for variable in module.globals.iter().filter(remaining) {
        let open = matches!(variable.shape, Shape::Unsized | Shape::Array(0)) && variable.space != Space::Shared;
        let elsewhere = open && variable.linkage == Linkage::Extern;
        report(variable.line, &variable.name, elsewhere.then_some("is declared without a size, and not defined"));
    }
    let mut functions: HashMap<&str, &Function> = HashMap::new();
    for function in &module.functions {
        if variables.contains_key(&*function.name) {
            report(function.line, &function.name, Some("is declared as a variable too"));
        }
        match functions.entry(&function.name) {
            Entry::Vacant(place) => {
                place.insert(function);
            }
            Entry::Occupied(mut earlier) => {
                report(function.line, &function.name, redefined(earlier.get(), function));
                earlier.insert(function);
            }
        }
    }
    let remaining =
        |function: &&Function| functions.get(&*function.name).is_some_and(|last| std::ptr::eq(*last, *function));
    for function in module.functions.iter().filter(remaining) {
        let missing = function.body.is_none() && function.linkage != Linkage::Extern;
        report(function.line, &function.name, missing.then_some("is declared, but not defined"));
    }
}

/// The conflict of a variable with its `earlier` declaration.
///
/// The parser rejects two definitions.
fn redeclared(earlier: &Variable, later: &Variable) -> Option<&'static str> {
    if earlier.ty != later.ty {
        return Some("is declared with another type before");
    }
    let hidden = earlier.linkage == Linkage::Extern && later.linkage == Linkage::Internal;
    hidden.then_some("is declared as external, and defined for this module only")
}

/// The conflict of a function with its `earlier` declaration.
fn redefined(earlier: &Function, later: &Function) -> Option<&'static str> {
    let noreturn = |function: &Function| function.directives.contains(&Directive::NoReturn);
    let kept = earlier.linkage == Linkage::Extern;
    let alike = earlier.linkage == later.linkage || !kept && later.linkage == Linkage::Internal;
    let shapes = |params: &[Param]| params.iter().map(shape).collect::<Vec<_>>();
    if earlier.body.is_some() {
        return Some("is declared after its definition");
    }
    if earlier.kind != later.kind {
        return Some("is both kernel and device function");
    }
    if !alike || noreturn(earlier) != noreturn(later) {
        return Some("is declared with other linkage before");
    }
    let same = shapes(&earlier.params) == shapes(&later.params) && shapes(&earlier.returns) == shapes(&later.returns);
    (!same).then_some("is declared with other parameters before")
}

/// What declarations of a parameter must have in common.
fn shape(param: &Param) -> (crate::ast::Type, Option<u64>, u64) {
    (param.ty, param.count, param.alignment().max(param.ty.bytes()))
}
