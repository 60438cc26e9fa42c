//! Rewrites of the compiler's text by the kernel build, before it ships.

mod names;
mod reach;

use thiserror::Error;

use crate::{
    ast::{Directive, FunctionKind, Module},
    table::Table,
};

pub use names::normalise_names;
pub use reach::drop_unreachable;

/// Why a module was not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The table lists a kernel that the module lacks.
    #[error("no kernel `{0}` in the module")]
    Missing(String),
}

/// Inserts the launch bounds, drops what no kernel reaches and normalises names.
///
/// # Errors
/// [`RewriteError::Missing`] if the table lists a kernel that the module lacks; the module is then
/// as before.
pub fn prepare(module: &mut Module, table: &Table) -> Result<(), RewriteError> {
    insert_launch_bounds(module, table)?;
    drop_unreachable(module);
    normalise_names(module);
    Ok(())
}

/// Gives each kernel of the table its `.maxntid` and `.minnctapersm`, in place of any it has.
///
/// # Errors
/// [`RewriteError::Missing`] if the table lists a kernel that the module lacks; the module is then
/// as before.
pub fn insert_launch_bounds(module: &mut Module, table: &Table) -> Result<(), RewriteError> {
    for spec in &table.kernels {
        if !module.entries().any(|(function, _)| *function.name == *spec.name) {
            return Err(RewriteError::Missing(spec.name.clone()));
        }
    }
    for function in module.functions.iter_mut().filter(|function| function.kind == FunctionKind::Entry) {
        let Some(spec) = table.kernel(&function.name) else { continue };
        let bound = |directive: &Directive| {
            matches!(directive, Directive::MaxThreads(_) | Directive::RequiredThreads(_) | Directive::MinBlocks(_))
        };
        function.directives.retain(|directive| !bound(directive));
        let mut bounds = vec![Directive::MaxThreads(spec.block)];
        if spec.min_blocks > 0 {
            bounds.push(Directive::MinBlocks(spec.min_blocks));
        }
        function.directives.splice(0..0, bounds);
    }
    Ok(())
}
