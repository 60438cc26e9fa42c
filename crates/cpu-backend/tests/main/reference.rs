//! The page `docs/ops.md`, generated from the descriptions of the ops.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use backend_api::ops::{Access, Described, Op, fss::GROUP};
use core_types::params::{
    correction::{FEATURES, LOSSES, NORMS, SCALARS},
    recurrent::GRU_SAVED,
};
use cpu_backend::CpuQueue;

const HEAD: &str = "\
# Ops

Every op that a backend runs: its result, its parameters, and its views with the lengths that are checked before it runs.
Brackets hold the factors of a length. A name is a field of the parameters, the length of the view or list of that name, or a size
that the op's `sizes` block computes from them; `>= n` is the number of elements that strides reach, at least. `T` is f32, f16 or
bf16, and a question mark follows views that may be left out. A view without brackets may have any length that holds the entries
which the parameters refer to. A view that is read and then written is listed with those that are written. The last column has the
reasons for which parameters are refused, apart from wrong lengths and sizes that overflow.

The test `the_page_of_ops_is_up_to_date` compares this page with the descriptions in
[backend-api](../crates/backend-api/src/ops), one file for each op set, and rewrites it if they differ; [adding an
op](adding-an-op.md) explains their form.
";

/// The first paragraph of a documentation comment, without the targets of its links.
fn summary(doc: &str) -> String {
    let paragraph: Vec<&str> = doc.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let mut rest = paragraph.join(" ");
    let mut text = String::new();
    while let Some(start) = rest.find("[`") {
        let Some(end) = rest[start..].find("`]").map(|end| start + end) else { break };
        text.push_str(&rest[..start]);
        text.push_str(&rest[start + 1..=end]);
        let after = &rest[end + 2..];
        let target = after.starts_with('(').then(|| after.find(')')).flatten();
        rest = after[target.map_or(0, |end| end + 1)..].to_owned();
    }
    text + &rest
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A length as a formula: `2^(n - 1)` for `pow2(n - 1)`, `a + b` for `a.saturating_add(b)`.
fn formula(length: &str) -> String {
    let mut text = length.to_owned();
    while let Some((sum, rest)) = text.split_once(".saturating_add(") {
        let (addend, rest) = rest.split_once(')').expect("a closing parenthesis");
        text = format!("{sum} + {addend}{rest}");
    }
    while let Some(start) = text.find("pow2(") {
        let end = start + text[start..].find(')').expect("a closing parenthesis");
        let exponent = &text[start + "pow2(".len()..end];
        let power = if exponent.contains(' ') { format!("2^({exponent})") } else { format!("2^{exponent}") };
        text.replace_range(start..=end, &power);
    }
    text
}

/// The file of each public struct of `core-types`, from the folder of the page.
fn parameter_files(folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            parameter_files(&path, files);
            continue;
        }
        let file = path.to_string_lossy().split_once("/../core-types/").unwrap().1.to_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let Some(rest) = line.strip_prefix("pub struct ") else { continue };
            let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            files.insert(name.to_owned(), format!("../crates/core-types/{file}"));
        }
    }
}

/// The type of a field, without its reference, which a macro may have spaced.
fn element(field: &Described) -> String {
    field.element.replace("& '", "&'").replace("&'a ", "")
}

/// A parameter, whose type is a link if it has a file.
fn parameter(described: &Described, files: &BTreeMap<String, String>) -> String {
    let ty = element(described);
    let name = ty.trim_start_matches('[').trim_end_matches(']');
    match files.get(name) {
        Some(file) => format!("`{}:` [`{ty}`]({file})", described.name),
        None => field(described),
    }
}

/// A field, such as `` `x: T[rows, len]` ``.
fn field(field: &Described) -> String {
    let optional = matches!(field.access, Access::ReadIfGiven | Access::WriteIfGiven);
    let length = if field.length.is_empty() { String::new() } else { format!("[{}]", formula(field.length)) };
    let mark = if optional { "?" } else { "" };
    format!("`{}{mark}: {}{length}`", field.name, element(field))
}

fn fields(all: &[Described], of: &[Access]) -> String {
    let chosen: Vec<String> = all.iter().filter(|field| of.contains(&field.access)).map(field).collect();
    cell(&chosen.join("<br>"))
}

fn row<O: Op>(page: &mut String, files: &BTreeMap<String, String>) {
    let mut all = Vec::new();
    O::describe(&mut |field| all.push(field));
    let parameters = all.iter().filter(|field| field.access == Access::Parameter);
    let parameters = cell(&parameters.map(|field| parameter(field, files)).collect::<Vec<_>>().join("<br>"));
    let [read, written] =
        [[Access::Read, Access::ReadIfGiven], [Access::Write, Access::WriteIfGiven]].map(|of| fields(&all, &of));
    // A reason that is computed stands in the check of the op alone.
    let refusals = O::REFUSALS.iter().filter_map(|why| why.strip_prefix('"')?.strip_suffix('"'));
    let refusals = cell(&refusals.collect::<Vec<_>>().join("; "));
    let result = cell(&summary(O::DOC));
    writeln!(page, "| `{}` | {result} | {parameters} | {read} | {written} | {refusals} |", O::NAME).unwrap();
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let constants = [
        ("GROUP", GROUP as u64),
        ("LOSSES", LOSSES),
        ("NORMS", NORMS),
        ("SCALARS", SCALARS),
        ("FEATURES", FEATURES),
        ("GRU_SAVED", GRU_SAVED),
    ];
    let constants = constants.map(|(name, value)| format!("{name} is {value}"));
    write!(page, "\nConstants: {}.\n", constants.join(", ")).unwrap();
    let mut files = BTreeMap::new();
    parameter_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../core-types/src"), &mut files);
    macro_rules! element {
        ($t:ident) => {
            f32
        };
    }
    macro_rules! describe {
        ($(#[doc = $doc:literal])* $module:ident::$set:ident: $super:ident {
            $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
        }) => {
            let text = summary(concat!($($doc, "\n"),*));
            write!(page, "\n## `{}::{}`\n\n{text}\n", stringify!($module), stringify!($set)).unwrap();
            page.push_str("\n| op | result | parameters | reads | writes | refuses |\n| --- | --- | --- | --- | --- | --- |\n");
            $(row::<backend_api::ops::$module::$record<'static, CpuQueue $(, element!($t))?>>(&mut page, &files);)*
        };
    }
    backend_api::op_sets!(describe);
    page
}

#[test]
fn the_page_of_ops_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ops.md");
    let (committed, fresh) = (fs::read_to_string(&file).unwrap_or_default(), page());
    if committed != fresh {
        fs::write(&file, &fresh).unwrap();
        panic!("docs/ops.md was stale, and has been rewritten");
    }
}

#[test]
fn lengths_are_formulas_and_summaries_end_with_their_paragraph() {
    assert_eq!(formula("4, pow2(log_n), pow2(n - 1), a.saturating_add(1)"), "4, 2^log_n, 2^(n - 1), a + 1");
    assert_eq!(summary(" See [`A`](b::A) and [`C`] for\n [x].\n\n Not this."), "See `A` and `C` for [x].");
}
