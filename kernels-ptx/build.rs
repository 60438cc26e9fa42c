//! Writes the random programs as Rust into the folder of the build: the text that the host runs too.

#[path = "../crates/device-trials/generator/mod.rs"]
mod generator;

fn main() -> std::io::Result<()> {
    generator::write("../crates/device-trials/generator")
}
