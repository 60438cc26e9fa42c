//! The page `docs/program.md`, generated from the help texts.
//!
//! It has every command, option and variable of the program.

use std::{fs, path::Path};

use clap::{Arg, Command, CommandFactory as _};
use runtime::VARIABLES;

use super::{Cli, EXIT_CODES};

const HEAD: &str = "\
# The program

Every command of `trefoil` with its arguments, and every environment variable. The test `the_page_of_the_program_is_up_to_date`
writes this page from the descriptions that `--help` prints.
";

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|").replace('<', "\\<")
}

/// An argument as it is typed.
fn typed(arg: &Arg) -> String {
    let values: Vec<_> = arg.get_value_names().into_iter().flatten().map(ToString::to_string).collect();
    let values = values.join(" ");
    match arg.get_long() {
        None => values,
        Some(long) if arg.get_action().takes_values() => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
    }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut parts = vec![help];
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !values.is_empty() {
        let names: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
        parts.push(format!("One of {}.", names.join(", ")));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && defaults.iter().any(|value| !value.is_empty()) {
        parts.push(format!("Default: {}.", defaults.join(", ")));
    }
    if arg.is_required_set() {
        parts.push("Required.".to_owned());
    }
    parts
        .iter()
        .map(|part| if part.is_empty() || part.ends_with('.') { part.clone() } else { format!("{part}.") })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Appends a command, and those below it.
fn describe(page: &mut String, command: &Command, path: &str, depth: usize) {
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let paragraphs: Vec<_> =
        about.split("\n\n").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    page.push_str(&format!("\n{} `{path}`\n\n{}\n", "#".repeat(depth), paragraphs.join("\n\n")));
    let is_own = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let mut args = command.get_arguments().filter(is_own).filter(|arg| depth == 2 || !arg.is_global_set()).peekable();
    if args.peek().is_some() {
        page.push_str("\n| argument | meaning |\n| --- | --- |\n");
    }
    for arg in args {
        page.push_str(&format!("| `{}` | {} |\n", typed(arg), cell(&meaning(arg))));
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        describe(page, below, &format!("{path} {}", below.get_name()), 3);
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    describe(&mut page, &Cli::command(), "trefoil", 2);
    page.push_str("\n## Exit codes\n\n| code | meaning |\n| --- | --- |\n");
    for line in EXIT_CODES.lines().skip(1) {
        let (code, meaning) = line.trim().split_once("  ").expect("a code and its meaning");
        page.push_str(&format!("| {code} | {} |\n", cell(meaning)));
    }
    page.push_str("\n## Environment\n\n`--backend` takes precedence over a domain's variable, a domain's variable over `TREFOIL_BACKEND`.\n\n");
    page.push_str("| variable | values and effect |\n| --- | --- |\n");
    for variable in VARIABLES {
        page.push_str(&format!("| `{}` | {} |\n", variable.name, cell(variable.help)));
    }
    page
}

#[test]
fn the_page_of_the_program_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (committed, fresh) = (fs::read_to_string(root.join("docs/program.md")).unwrap_or_default(), page());
    if committed != fresh {
        fs::write(root.join("target/program.md"), &fresh).unwrap();
        panic!("docs/program.md is stale: copy target/program.md there");
    }
}
