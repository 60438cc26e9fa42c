//! Names without the hashes of the compiler, so that equal kernels have equal text.

use std::collections::{HashMap, HashSet};

use crate::ast::{AddressBase, Body, Function, FunctionKind, Initialiser, Linkage, Module, Name, Operand, Symbol};

/// Shortest run of hexadecimal digits that counts as a hash.
const HASH_DIGITS: usize = 16;

/// Removes hashes from the names that only the module sees, and numbers labels and depots.
///
/// The numbers follow the order of functions.
///
/// Two names that differ only in their hash are kept apart by a number. Kernels and visible or
/// external names are kept.
pub fn normalise_names(module: &mut Module) {
    let renamed = new_names(module);
    let rename = |name: &mut Name| {
        if let Some(new) = renamed.get(name) {
            *name = new.clone();
        }
    };
    for variable in &mut module.globals {
        rename(&mut variable.name);
        for value in &mut variable.initialiser {
            if let Initialiser::Address { symbol, .. } = value {
                rename(symbol);
            }
        }
    }
    for (index, function) in module.functions.iter_mut().enumerate() {
        rename_params(function, &renamed);
        rename(&mut function.name);
        if let Some(body) = &mut function.body {
            for_each_name(body, rename);
            number_locals(body, index);
        }
    }
}

/// The names that change, old to new.
fn new_names(module: &Module) -> HashMap<Name, Name> {
    let functions = module.functions.iter().map(|function| {
        let fixed = function.kind == FunctionKind::Entry || function.linkage != Linkage::Internal;
        (&function.name, fixed)
    });
    let globals = module.globals.iter().map(|variable| (&variable.name, variable.linkage != Linkage::Internal));
    let names: Vec<_> = functions.chain(globals).collect();
    let clean = |name: &Name, fixed: bool| fixed || without_hashes(name) == **name;
    let mut taken: HashSet<Name> =
        names.iter().filter(|(name, fixed)| clean(name, *fixed)).map(|(name, _)| (*name).clone()).collect();
    let mut renamed: HashMap<Name, Name> = HashMap::new();
    for (name, fixed) in names {
        if clean(name, fixed) || taken.contains(name) || renamed.contains_key(name) {
            continue;
        }
        let stem = without_hashes(name);
        let mut new: Name = stem.as_str().into();
        let mut number = 1;
        while !taken.insert(new.clone()) {
            number += 1;
            new = format!("{stem}_{number}").into();
        }
        renamed.insert(name.clone(), new);
    }
    renamed
}

/// Parameters are named after their function.
fn rename_params(function: &mut Function, renamed: &HashMap<Name, Name>) {
    let Some(new) = renamed.get(&function.name) else { return };
    for param in function.params.iter_mut().chain(&mut function.returns) {
        if let Some(rest) = param.name.strip_prefix(&*function.name) {
            param.name = format!("{new}{rest}").into();
        }
    }
}

/// Calls `change` on every name of the module that `body` uses.
pub(super) fn for_each_name(body: &mut Body, mut change: impl FnMut(&mut Name)) {
    let instructions = body.instructions.iter_mut().flat_map(|instruction| &mut instruction.operands);
    let targets = body.targets.iter_mut().flat_map(|list| &mut list.targets);
    for operand in instructions.chain(targets) {
        let (own, items): (Option<&mut Symbol>, &mut [Operand]) = match operand {
            Operand::Symbol { symbol, .. } => (Some(symbol), &mut []),
            Operand::Address(address) => (base_symbol(&mut address.base), &mut []),
            Operand::TensorAddress(address, items) => (base_symbol(&mut address.base), items),
            Operand::Vector(items) | Operand::List(items) => (None, items),
            _ => (None, &mut []),
        };
        let items = items.iter_mut().filter_map(|item| match item {
            Operand::Symbol { symbol, .. } => Some(symbol),
            _ => None,
        });
        for symbol in own.into_iter().chain(items) {
            if let Symbol::Module(name) = symbol {
                change(name);
            }
        }
    }
}

fn base_symbol(base: &mut AddressBase) -> Option<&mut Symbol> {
    match base {
        AddressBase::Symbol(symbol) => Some(symbol),
        AddressBase::Reg(_) | AddressBase::Absolute => None,
    }
}

/// Puts the number of the function into LLVM's names of labels and local depots.
fn number_locals(body: &mut Body, index: usize) {
    let labels = body.labels.iter_mut().map(|label| &mut label.name);
    let variables = body.variables.iter_mut().map(|variable| &mut variable.name);
    for name in labels.chain(variables) {
        for prefix in ["$L__BB", "__local_depot"] {
            if let Some(rest) = name.strip_prefix(prefix) {
                let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                *name = format!("{prefix}{index}{rest}").into();
                break;
            }
        }
    }
}

/// `name` without the hashes that rustc puts into symbols.
///
/// These are crate disambiguators `Cs..._` of the v0 scheme, and long runs of hexadecimal digits,
/// with the `17h` before them in the legacy scheme.
fn without_hashes(name: &str) -> String {
    let mut clean = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("Cs").and_then(after_disambiguator) {
            clean.push('C');
            rest = after;
            continue;
        }
        let hex = |text: &str| text.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
        let legacy = rest.strip_prefix("17h").filter(|digits| hex(digits) >= HASH_DIGITS);
        let digits = legacy.unwrap_or(rest);
        let run = hex(digits);
        if run >= HASH_DIGITS {
            rest = &digits[run..];
        } else {
            clean.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    clean
}

/// The text after the base-62 number and underscore of a disambiguator.
///
/// `None` unless a path component follows.
fn after_disambiguator(text: &str) -> Option<&str> {
    let (number, rest) = text.split_once('_')?;
    let valid = number.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (valid && rest.starts_with(|c: char| c.is_ascii_digit())).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::without_hashes;

    #[test]
    fn hashes_go_and_the_rest_stays() {
        for (name, clean) in [
            ("_RNvNvCsj9UxyH18fga_7samples14checked_lookup5TABLE", "_RNvNvC7samples14checked_lookup5TABLE"),
            ("_RNvNtCsekQVkFLoVwc_4core9panicking9panic_fmt", "_RNvNtC4core9panicking9panic_fmt"),
            ("_ZN4core9panicking5panic17h0123456789abcdefE", "_ZN4core9panicking5panicE"),
            ("anon_$_0123456789abcdef0123456789abcdef_$_3", "anon_$__$_3"),
            ("block_sum", "block_sum"),
            ("Cs_of_words", "Cs_of_words"),
            ("table_deadbeef", "table_deadbeef"),
        ] {
            assert_eq!(without_hashes(name), clean);
        }
    }
}
