//! No two modules of a crate need each other: the imports between its files form layers.
//!
//! A file needs another if it names something that is defined there, in an import or by a path, outside its tests. A name that a
//! module hands on is followed to where it is defined, and handing it on is no need. Needs between a module and
//! those within it do not count, and so a circle that leads through one of them is not seen.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use syn::{Item, Visibility};

use super::{
    Finding,
    facts::What,
    source::File,
    visit::{self, is_test_only, leaves},
};

/// Names that a chain of re-exports may have; more would be a circle itself.
const CHAIN: usize = 8;

/// Crates that are not in layers yet.
const NOT_YET: &[&str] = &["crates/cuda-loader", "crates/pfss", "crates/stark-fft"];

/// A module that has a file of its own.
struct Module<'f> {
    file: &'f File,
    /// What it defines.
    items: BTreeSet<String>,
    /// What it imports or hands on: the full path by the local name.
    imports: HashMap<String, String>,
    /// Lines and paths of what it hands on.
    handed_on: BTreeSet<(usize, String)>,
}

/// Modules by their paths: the folder of the crate's sources, then the names from the root of the crate.
type Modules<'f> = BTreeMap<Vec<String>, Module<'f>>;

/// The modules that one needs, each with the line and the path where it says so first.
type Needs<'m> = BTreeMap<&'m Vec<String>, (usize, String)>;

/// Reports one circle for each set of modules that need each other.
pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let modules: Modules<'_> = files.iter().filter_map(|file| Some((path_of(file)?, read(file)?))).collect();
    let needs: BTreeMap<_, _> = modules.iter().map(|(path, module)| (path, needs(&modules, path, module))).collect();
    let mut reported = BTreeSet::new();
    for &start in needs.keys() {
        if reported.contains(start) {
            continue;
        }
        let Some(circle) = circle(&needs, start) else { continue };
        let steps: Vec<String> =
            circle.iter().map(|&(from, to)| format!("`{}` needs `{}`", name(from), needs[from][to].1)).collect();
        let (first, second) = circle[0];
        let message = format!("imports go in a circle: {}", steps.join(", "));
        findings.push(Finding::new(&modules[first].file.path, needs[first][second].0, message));
        reported.extend(circle.into_iter().map(|(from, _)| from));
    }
}

/// The path of a module that belongs to the sources of a crate.
fn path_of(file: &File) -> Option<Vec<String>> {
    let (root, rest) = file.path.split_once("/src/").filter(|(root, _)| !file.test_only && !NOT_YET.contains(root))?;
    let rest = rest.strip_suffix(".rs")?;
    let rest = if rest == "mod" { "" } else { rest.trim_end_matches("/mod") };
    let names = rest.split('/').filter(|name| !["", "lib", "main"].contains(name));
    Some([root].into_iter().chain(names).map(str::to_owned).collect())
}

fn name(path: &[String]) -> String {
    if path.len() == 1 { "crate".to_owned() } else { path[1..].join("::") }
}

fn read(file: &File) -> Option<Module<'_>> {
    let (mut items, mut imports, mut handed_on) = (BTreeSet::new(), HashMap::new(), BTreeSet::new());
    for item in &file.ast.as_ref()?.items {
        let ident = match item {
            Item::Use(item) if !is_test_only(&item.attrs) => {
                leaves(&item.tree, &mut Vec::new(), &mut |path, local, line| {
                    if !matches!(item.vis, Visibility::Inherited) {
                        handed_on.insert((line, path.clone()));
                    }
                    imports.insert(local, path);
                });
                None
            }
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Macro(item) => item.ident.as_ref(),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        items.extend(ident.map(ToString::to_string));
    }
    Some(Module { file, items, imports, handed_on })
}

/// What `module` needs.
fn needs<'m>(modules: &'m Modules<'_>, path: &[String], module: &Module<'_>) -> Needs<'m> {
    let mut needs = BTreeMap::new();
    let Some(ast) = &module.file.ast else { return needs };
    for fact in visit::facts(ast, &module.file.text, false) {
        let What::Path(named) = fact.what else { continue };
        if fact.test || module.handed_on.contains(&(fact.line, named.clone())) {
            continue;
        }
        if let Some(target) = defined_in(modules, path, &named, CHAIN)
            .filter(|target| !target.starts_with(path) && !path.starts_with(target))
        {
            needs.entry(target).or_insert((fact.line, named));
        }
    }
    needs
}

/// The module that defines what `named` stands for in the module `at`, if it is one of the same crate.
fn defined_in<'m>(modules: &'m Modules<'_>, at: &[String], named: &str, chain: usize) -> Option<&'m Vec<String>> {
    let mut names = named.split("::").peekable();
    let mut found = match *names.peek()? {
        "crate" => vec![at[0].clone()],
        "self" | "super" => at.to_vec(),
        first => {
            let child = [at, &[first.to_owned()]].concat();
            modules.contains_key(&child).then_some(at.to_vec())?
        }
    };
    for name in names {
        match name {
            "crate" | "self" => {}
            "super" => drop(found.pop()),
            _ => {
                found.push(name.to_owned());
                if modules.contains_key(&found) {
                    continue;
                }
                found.pop();
                let (path, module) = modules.get_key_value(&found)?;
                let import = module.imports.get(name).filter(|_| chain > 0 && !module.items.contains(name));
                return Some(import.and_then(|import| defined_in(modules, path, import, chain - 1)).unwrap_or(path));
            }
        }
    }
    // A module by itself: what is taken from it is named where it is used.
    None
}

/// The shortest circle through `start`, as its edges.
fn circle<'m>(
    needs: &BTreeMap<&'m Vec<String>, Needs<'m>>,
    start: &'m Vec<String>,
) -> Option<Vec<(&'m Vec<String>, &'m Vec<String>)>> {
    let (mut before, mut open) = (BTreeMap::new(), VecDeque::from([start]));
    while let Some(at) = open.pop_front() {
        for &next in needs.get(at)?.keys() {
            if before.contains_key(next) {
                continue;
            }
            before.insert(next, at);
            if next != start {
                open.push_back(next);
                continue;
            }
            let mut edges = vec![(before[start], start)];
            while edges[0].0 != start {
                let to = edges[0].0;
                edges.insert(0, (before[to], to));
            }
            return Some(edges);
        }
    }
    None
}
