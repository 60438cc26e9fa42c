//! The generator of random programs, for build scripts of this crate and of `kernels-ptx`.
//!
//! The same text is compiled for the host and for the device; both must compute the same.

mod families;
mod program;
mod random;
mod types;

use self::{
    families::{FAMILIES, Family},
    random::Random,
};

/// The choices begin here. Another seed gives other programs of the same kinds.
const SEED: u64 = 0x7472_6566_6f69_6c00;

/// The text of all programs: a module for each family, and the function that they share.
pub(crate) fn programs() -> String {
    let modules = FAMILIES.iter().enumerate().map(|(index, family)| module(family, Random::new(SEED + index as u64)));
    let fold = "/// Takes one more word into a result.\n\
        fn fold(end: u64, word: u64) -> u64 {\n    (end ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)\n}\n";
    modules.chain([fold.to_owned()]).collect()
}

/// The module of a family: its programs and the function that picks one.
fn module(family: &Family, mut random: Random) -> String {
    let programs: Vec<String> = (0..family.count).map(|index| family.program(&mut random, index)).collect();
    let programs = programs.join("\n");
    let mut text = format!("/// {}\npub(crate) mod {} {{\n", family.about, family.name);
    for module in ["double", "single"] {
        if programs.contains(&format!("{module}::")) {
            text.push_str(&format!("use super::super::float::{module};\n"));
        }
    }
    if programs.contains(" fold(") {
        text.push_str("use super::fold;\n");
    }
    text.push_str(&format!(
        "\n/// Number of programs.\npub(crate) const COUNT: u32 = {};\n\n\
         /// What program `program` makes of three words; 0 if there is no such program.\n\
         #[inline(always)]\n\
         pub(crate) fn run(program: u32, a: u64, b: u64, c: u64) -> u64 {{\n    match program {{\n",
        family.count
    ));
    for index in 0..family.count {
        text.push_str(&format!("        {index} => p{index}(a, b, c),\n"));
    }
    text + "        _ => 0,\n    }\n}\n\n" + &programs + "}\n\n"
}
