//! The Rust files of the programs.

use super::{
    families::{FAMILIES, Family},
    random::Random,
};

/// The choices begin here. Another seed gives other programs of the same kinds.
const SEED: u64 = 0x7472_6566_6f69_6c00;

/// Name and text of every file.
pub(super) fn files() -> Vec<(String, String)> {
    let families = FAMILIES.iter().enumerate().map(|(index, family)| {
        let text = family_file(family, &mut Random::new(SEED + index as u64));
        (format!("{}.rs", family.name), text)
    });
    families.chain([("mod.rs".to_owned(), root_file())]).collect()
}

/// The file that holds the others together.
fn root_file() -> String {
    let mut text = String::from(
        "//! Random programs, written by `cargo xtask build-ptx`: change its generator, not these files.\n\
         //!\n\
         //! The same text is compiled for the device and for the host; both must compute the same.\n\n",
    );
    let mut names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    names.sort_unstable();
    for name in names {
        text.push_str(&format!("pub(crate) mod {name};\n"));
    }
    text + "\n/// Takes one more word into a result.\n\
        fn fold(end: u64, word: u64) -> u64 {\n    (end ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)\n}\n"
}

/// The file of a family: its programs and the function that picks one.
fn family_file(family: &Family, random: &mut Random) -> String {
    let programs: Vec<String> = (0..family.count).map(|index| family.program(random, index)).collect();
    let programs = programs.join("\n");
    let mut text = format!("//! {} Written by `cargo xtask build-ptx`.\n\n", family.about);
    for module in ["double", "single"] {
        if programs.contains(&format!("{module}::")) {
            text.push_str(&format!("use super::super::float::{module};\n"));
        }
    }
    if programs.contains(" fold(") {
        text.push_str("use super::fold;\n");
    }
    text.push_str(&format!(
        "\n/// How many programs there are.\npub(crate) const COUNT: u32 = {};\n\n\
         /// What program `program` makes of three words; 0 if there is no such program.\n\
         #[inline(always)]\n\
         pub(crate) fn run(program: u32, a: u64, b: u64, c: u64) -> u64 {{\n    match program {{\n",
        family.count
    ));
    for index in 0..family.count {
        text.push_str(&format!("        {index} => p{index}(a, b, c),\n"));
    }
    text + "        _ => 0,\n    }\n}\n\n" + &programs
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{super::FOLDER, files};

    #[test]
    fn the_committed_programs_are_those_of_the_generator() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels-ptx"));
        for (name, text) in files() {
            let path = root.join(FOLDER).join(&name);
            let committed = std::fs::read_to_string(&path).unwrap();
            assert!(committed == text, "{name} differs: run `cargo xtask build-ptx`");
        }
    }

    #[test]
    fn the_programs_are_rust_in_files_of_moderate_length() {
        for (name, text) in files() {
            assert!(syn::parse_file(&text).is_ok(), "{name}");
            assert!(text.lines().count() <= 600, "{name}");
            assert!(text.lines().all(|line| line.len() <= 120), "{name}");
        }
    }
}
