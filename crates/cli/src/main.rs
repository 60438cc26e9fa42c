//! The `trefoil` program.
fn main() {}
