//! Separate processes and time limits for tests.
//!
//! - [`alone`] and [`alone_in`] run a test in a separate process, for state that a process has
//!   once: its driver, its allocator, its environment.
//! - [`pair`], [`scope`] and [`within`] end a test whose threads hang.
//! - [`output`], [`output_of`] and [`wait`] end a child process that hangs.
#![forbid(unsafe_code)]

mod child;
mod limit;
#[cfg(test)]
mod tests;

pub use child::{alone, alone_in, output, output_of, wait};
pub use limit::{pair, scope, within};
use std::time::Duration;

/// The default limit of a child process, and of a wait for another thread or rank.
///
/// Far above what any of them takes on a busy machine: only a hang reaches it.
pub const LIMIT: Duration = Duration::from_secs(120);

/// The path of the test whose body is `F`, as libtest prints it.
///
/// The closure must be in the test itself.
fn test_name<F>() -> String {
    let name = std::any::type_name::<F>();
    let path = name.split("::{{closure}}").next().unwrap_or(name);
    // The first segment is the crate.
    path.split_once("::").map_or(path, |(_, test)| test).to_owned()
}
