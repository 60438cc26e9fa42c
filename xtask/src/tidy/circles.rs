//! No two modules of a crate need each other.
//!
//! The imports between its files form layers, and so do the imports between its folders. A file
//! needs another if it names something that is defined there, in an import or by a path, outside
//! its tests. A name that a module hands on is followed to where it is defined, and handing it on
//! is no need. A need counts between the two siblings that hold the two files, whether they are
//! files or folders; none counts between a module and those within it.

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

/// A module in a separate file.
struct FileModule<'f> {
    file: &'f File,
    /// The items it defines.
    items: BTreeSet<String>,
    /// Its imports and re-exports: the full path by the local name.
    imports: HashMap<String, String>,
    /// Lines and paths of its re-exports.
    handed_on: BTreeSet<(usize, String)>,
}

/// Modules by their paths.
///
/// A path is the folder of the crate's sources, then the names from the root of the crate.
type Modules<'f> = BTreeMap<Vec<String>, FileModule<'f>>;

/// One thing that a file needs.
struct Need<'m> {
    /// The module whose file has the line.
    from: &'m [String],
    line: usize,
    /// The path named there.
    named: String,
}

/// The first need of each pair of modules.
type Needs<'m> = BTreeMap<&'m [String], BTreeMap<&'m [String], Need<'m>>>;

/// Reports one circle for each set of modules that need each other.
pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let modules: Modules<'_> = files.iter().filter_map(|file| Some((path_of(file)?, read(file)?))).collect();
    let mut needs = Needs::new();
    for (path, module) in &modules {
        for (target, line, named) in needs_of(&modules, path, module) {
            if let Some((from, to)) = sides(path, target) {
                needs.entry(from).or_default().entry(to).or_insert(Need { from: path, line, named });
            }
        }
    }
    let mut reported = BTreeSet::new();
    for &start in needs.keys() {
        if reported.contains(start) {
            continue;
        }
        let Some(circle) = circle(&needs, start) else { continue };
        let steps: Vec<&Need<'_>> = circle.iter().map(|&(from, to)| &needs[from][to]).collect();
        let texts: Vec<_> = steps.iter().map(|need| format!("`{}` needs `{}`", name(need.from), need.named)).collect();
        let message = format!("imports go in a circle: {}", texts.join(", "));
        findings.push(Finding::new(&modules[steps[0].from].file.path, steps[0].line, message));
        reported.extend(circle.into_iter().map(|(from, _)| from));
    }
}

/// The two modules between which a need of `from` for `to` counts, if it does.
fn sides<'m>(from: &'m [String], to: &'m [String]) -> Option<(&'m [String], &'m [String])> {
    if from.starts_with(to) || to.starts_with(from) {
        return None;
    }
    let siblings = from.iter().zip(to).take_while(|(from, to)| from == to).count() + 1;
    Some((&from[..siblings], &to[..siblings]))
}

/// The path of a module that belongs to the sources of a crate.
fn path_of(file: &File) -> Option<Vec<String>> {
    let (root, rest) = file.path.split_once("/src/").filter(|_| !file.test_only)?;
    let rest = rest.strip_suffix(".rs")?;
    let rest = if rest == "mod" { "" } else { rest.trim_end_matches("/mod") };
    let names = rest.split('/').filter(|name| !["", "lib", "main"].contains(name));
    Some([root].into_iter().chain(names).map(str::to_owned).collect())
}

fn name(path: &[String]) -> String {
    if path.len() == 1 { "crate".to_owned() } else { path[1..].join("::") }
}

fn read(file: &File) -> Option<FileModule<'_>> {
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
    Some(FileModule { file, items, imports, handed_on })
}

/// The needs of `module`: other modules, each with the line and the path that names it.
fn needs_of<'m>(
    modules: &'m Modules<'_>,
    path: &[String],
    module: &FileModule<'_>,
) -> Vec<(&'m [String], usize, String)> {
    let mut needs = Vec::new();
    let Some(ast) = &module.file.ast else { return needs };
    for fact in visit::facts(ast, &module.file.text, false) {
        let What::Path(named) = fact.what else { continue };
        if fact.test || module.handed_on.contains(&(fact.line, named.clone())) {
            continue;
        }
        if let Some(target) = defined_in(modules, path, &named, CHAIN)
            .filter(|target| !target.starts_with(path) && !path.starts_with(target))
        {
            needs.push((target.as_slice(), fact.line, named));
        }
    }
    needs
}

/// The module that defines `named` in the module `at`.
///
/// `None` if it is not a module of the same crate.
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
    // A module by itself: items taken from it are named where they are used.
    None
}

/// The shortest circle through `start`, as its edges.
fn circle<'m>(needs: &Needs<'m>, start: &'m [String]) -> Option<Vec<(&'m [String], &'m [String])>> {
    let (mut before, mut open) = (BTreeMap::new(), VecDeque::from([start]));
    while let Some(at) = open.pop_front() {
        for &next in needs.get(at).into_iter().flat_map(BTreeMap::keys) {
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
