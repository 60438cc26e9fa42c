//! Removes what no kernel of a module can reach.

use std::collections::HashSet;

use super::names::for_each_name;
use crate::ast::{FunctionKind, Initialiser, Linkage, Module, Name, Variable};

/// Drops the functions and variables that neither a kernel nor a visible variable reaches.
///
/// A visible variable stays, since the host may ask for it by name.
pub fn drop_unreachable(module: &mut Module) {
    let mut reached: HashSet<Name> = HashSet::new();
    let mut pending: Vec<Name> = Vec::new();
    let entries = module.functions.iter().filter(|function| function.kind == FunctionKind::Entry);
    pending.extend(entries.map(|function| function.name.clone()));
    let visible = module.globals.iter().filter(|variable| variable.linkage == Linkage::Visible);
    pending.extend(visible.map(|variable| variable.name.clone()));
    while let Some(name) = pending.pop() {
        if !reached.insert(name.clone()) {
            continue;
        }
        for body in module.functions.iter_mut().filter(|function| function.name == name).filter_map(|f| f.body.as_mut())
        {
            for_each_name(body, |name| pending.push(name.clone()));
        }
        for variable in module.globals.iter().filter(|variable| variable.name == name) {
            pending.extend(symbols(variable).cloned());
        }
    }
    module.functions.retain(|function| reached.contains(&function.name));
    module.globals.retain(|variable| reached.contains(&variable.name));
}

/// The symbols whose addresses a variable holds.
fn symbols(variable: &Variable) -> impl Iterator<Item = &Name> {
    variable.initialiser.iter().filter_map(|value| match value {
        Initialiser::Address { symbol, .. } => Some(symbol),
        _ => None,
    })
}
