//! Writes the random programs as Rust into the folder of the build.

#[path = "generator/mod.rs"]
mod generator;

fn main() -> std::io::Result<()> {
    generator::write("generator")
}
