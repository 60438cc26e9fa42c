//! The parameters of the kernels, as their source declares them.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use syn::{FnArg, Item, ItemFn, Pat, Type};

/// The kernel's use of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// It is a value: a scalar or a record.
    Value,
    /// It leads to memory that is read.
    Read,
    /// It leads to memory that is written, and may be read.
    Write,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The type of the value, or of the elements that it leads to.
    pub(super) r#type: String,
}

/// The parameters of each kernel, by its name.
pub(super) type Signatures = HashMap<String, Vec<Parameter>>;

/// Reads the kernels of a source whose macros are expanded.
pub(super) fn read(source: &str) -> Result<Signatures> {
    let file = syn::parse_file(source).context("the expanded source of the kernels")?;
    let mut signatures = Signatures::new();
    collect(&file.items, &mut signatures)?;
    Ok(signatures)
}

fn collect(items: &[Item], signatures: &mut Signatures) -> Result<()> {
    for item in items {
        match item {
            Item::Mod(module) => collect(module.content.as_ref().map_or(&[], |(_, items)| items), signatures)?,
            Item::Fn(function) if is_kernel(function) => {
                let name = function.sig.ident.to_string();
                let parameters = function.sig.inputs.iter().map(parameter).collect::<Result<_>>();
                signatures.insert(name.clone(), parameters.with_context(|| format!("kernel `{name}`"))?);
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_kernel(function: &ItemFn) -> bool {
    let abi = function.sig.abi.as_ref().and_then(|abi| abi.name.as_ref());
    abi.is_some_and(|name| name.value() == "ptx-kernel")
}

fn parameter(argument: &FnArg) -> Result<Parameter> {
    let FnArg::Typed(argument) = argument else { bail!("a parameter is `self`") };
    let Pat::Ident(name) = &*argument.pat else { bail!("a parameter has no name") };
    let (kind, r#type) = match &*argument.ty {
        Type::Ptr(pointer) if pointer.mutability.is_some() => (Kind::Write, &*pointer.elem),
        Type::Ptr(pointer) => (Kind::Read, &*pointer.elem),
        value => (Kind::Value, value),
    };
    let name = name.ident.to_string();
    let r#type = type_name(r#type).with_context(|| format!("parameter `{name}`"))?;
    Ok(Parameter { name, kind, r#type })
}

/// The name of a type without its path; for an array, the name of its element type.
fn type_name(r#type: &Type) -> Result<String> {
    match r#type {
        Type::Path(path) => Ok(path.path.segments.last().context("a type without a name")?.ident.to_string()),
        Type::Group(group) => type_name(&group.elem), // a type passed to a macro
        Type::Paren(inner) => type_name(&inner.elem),
        Type::Array(array) => type_name(&array.elem), // memory of arrays is memory of their elements
        _ => bail!("the type is neither a name nor a pointer to one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_in_modules_with_names_kinds_and_types() {
        let source = "mod a { pub unsafe extern \"ptx-kernel\" fn scale(params: a::Scale, x: *const f32, y: *mut crate::F16) {} \
                      fn helper(x: u32) {} } extern \"C\" fn other(x: u32) {}";
        let signatures = read(source).unwrap();
        let parameter =
            |name: &str, kind, r#type: &str| Parameter { name: name.to_owned(), kind, r#type: r#type.to_owned() };
        let scale = [
            parameter("params", Kind::Value, "Scale"),
            parameter("x", Kind::Read, "f32"),
            parameter("y", Kind::Write, "F16"),
        ];
        assert_eq!(signatures.len(), 1);
        assert_eq!(signatures["scale"], scale);
    }

    #[test]
    fn parameters_without_a_named_type_are_refused() {
        let refused = read("extern \"ptx-kernel\" fn k(x: &[u32]) {}").unwrap_err();
        assert!(format!("{refused:#}").contains("kernel `k`: parameter `x`"), "{refused:#}");
    }
}
