//! Writes the forwarders of crate `cuda-loader`.
//!
//! It reads the crate's list of typed functions and the imports of `cust_raw`.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::MetadataCommand;
use syn::{FnArg, ForeignItem, Item, Type};
use xshell::Shell;

use crate::tally::Tally;

const CRATE: &str = "crates/cuda-loader";

/// Writes the generated files, or compares them with the committed ones.
pub(crate) fn run(sh: &Shell, check: bool) -> Result<Tally> {
    let root = sh.current_dir();
    let list = fs::read_to_string(root.join(CRATE).join("functions.list")).context("cannot read functions.list")?;
    let imports = Imports::of_cust_raw(&root)?;
    let files = generate(&list, &imports)?;
    let mut tally = Tally::default();
    for (name, text) in files {
        let path = root.join(CRATE).join("src").join(name);
        if check {
            let current = fs::read_to_string(&path).unwrap_or_default();
            if current != text {
                println!("{}: differs from what `cargo xtask forwarders` writes", path.display());
            }
            tally += Tally::of(&format!("forwarders {name}"), current == text);
        } else {
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            tally += Tally::of(&format!("forwarders {name}"), true);
        }
    }
    Ok(tally)
}

/// One line of the list.
struct ForwardedFunction<'a> {
    name: &'a str,
    /// `name: type` of each argument, as written.
    arguments: &'a str,
    since: Option<&'a str>,
}

impl<'a> ForwardedFunction<'a> {
    fn parse(line: &'a str) -> Result<Self> {
        let malformed = || format!("`{line}`: expected `name(argument: type, ...) [since MAJOR.MINOR]`");
        let (name, rest) = line.split_once('(').with_context(malformed)?;
        let (arguments, tail) = rest.split_once(')').with_context(malformed)?;
        let since = match tail.trim() {
            "" => None,
            tail => Some(tail.strip_prefix("since ").with_context(malformed)?),
        };
        Ok(Self { name, arguments, since })
    }

    /// How a register or stack slot sees each argument.
    fn classes(&self) -> Result<Vec<ArgumentClass>> {
        let types = self.arguments.split(", ").filter(|argument| !argument.is_empty());
        types.map(|argument| argument.split_once(": ").map_or("", |(_, ty)| ty)).map(ArgumentClass::of_ours).collect()
    }
}

/// Where the C calling convention puts an argument.
///
/// Two declarations of a function must agree on it, and on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentClass {
    Pointer,
    Word8,
    Word16,
    Word32,
    Word64,
    Float,
    /// A record by value, which no typed function takes.
    Record,
}

impl ArgumentClass {
    fn of_ours(ty: &str) -> Result<Self> {
        Ok(match ty {
            "u8" => Self::Word8,
            "u16" => Self::Word16,
            "u32" | "i32" | "CUdevice" => Self::Word32,
            "u64" | "usize" | "CUdeviceptr" => Self::Word64,
            "f32" => Self::Float,
            "HostFn" | "StreamCallback" | "BlockToSharedFn" => Self::Pointer,
            handle if handle.starts_with("CU") => Self::Pointer,
            pointer if pointer.starts_with("*mut ") || pointer.starts_with("*const ") => Self::Pointer,
            other => bail!("type `{other}` is unknown; name its calling class in {}", file!()),
        })
    }
}

/// The functions that `cust_raw` imports, by name.
struct Imports(BTreeMap<String, Vec<ArgumentClass>>);

impl Imports {
    fn of_cust_raw(root: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new().current_dir(root).exec().context("cannot run cargo metadata")?;
        let package = metadata.packages.iter().find(|package| package.name.as_str() == "cust_raw");
        let manifest = &package.context("cust_raw is no dependency of the workspace")?.manifest_path;
        let source = manifest.with_file_name("src").join("cuda.rs");
        let text = fs::read_to_string(&source).with_context(|| format!("cannot read {source}"))?;
        Self::parse(&text)
    }

    fn parse(source: &str) -> Result<Self> {
        let file = syn::parse_file(source).context("cannot parse the bindings of cust_raw")?;
        let mut names = Names::default();
        for item in &file.items {
            match item {
                Item::Type(alias) => drop(names.aliases.insert(alias.ident.to_string(), &alias.ty)),
                Item::Enum(item) => names.enums.push(item.ident.to_string()),
                _ => {}
            }
        }
        let foreign = file.items.iter().filter_map(|item| match item {
            Item::ForeignMod(block) => Some(&block.items),
            _ => None,
        });
        let mut imports = BTreeMap::new();
        for item in foreign.flatten() {
            let ForeignItem::Fn(function) = item else { continue };
            let classes = function.sig.inputs.iter().map(|argument| match argument {
                FnArg::Typed(argument) => names.class(&argument.ty),
                FnArg::Receiver(_) => ArgumentClass::Record,
            });
            imports.insert(function.sig.ident.to_string(), classes.collect());
        }
        ensure!(!imports.is_empty(), "cust_raw imports no function");
        Ok(Self(imports))
    }
}

/// The meanings of the bindings' type names.
#[derive(Default)]
struct Names<'a> {
    aliases: BTreeMap<String, &'a Type>,
    enums: Vec<String>,
}

impl Names<'_> {
    fn class(&self, ty: &Type) -> ArgumentClass {
        let path = match ty {
            Type::Ptr(_) | Type::BareFn(_) => return ArgumentClass::Pointer,
            Type::Path(path) => path,
            _ => return ArgumentClass::Record,
        };
        let Some(name) = path.path.segments.last().map(|segment| segment.ident.to_string()) else {
            return ArgumentClass::Record;
        };
        match name.as_str() {
            "c_uchar" => ArgumentClass::Word8,
            "c_ushort" => ArgumentClass::Word16,
            "c_int" | "c_uint" | "u32" | "i32" => ArgumentClass::Word32,
            "c_longlong" | "c_ulonglong" | "u64" | "usize" => ArgumentClass::Word64,
            "f32" => ArgumentClass::Float,
            // Of functions only; a record is never optional.
            "Option" => ArgumentClass::Pointer,
            name if self.enums.iter().any(|item| item.strip_suffix("_enum").unwrap_or(item) == name) => {
                ArgumentClass::Word32
            }
            "CUresult" => ArgumentClass::Word32,
            name => self.aliases.get(name).map_or(ArgumentClass::Record, |ty| self.class(ty)),
        }
    }
}

/// The generated files by name: the list of typed functions and the stubs of everything else.
fn generate(list: &str, imports: &Imports) -> Result<[(&'static str, String); 2]> {
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let functions = lines.map(ForwardedFunction::parse).collect::<Result<Vec<_>>>()?;
    let mut forward = String::new();
    let mut own = String::new();
    for (at, function) in functions.iter().enumerate() {
        let ForwardedFunction { name, arguments, since } = function;
        ensure!(functions[..at].iter().all(|earlier| earlier.name != *name), "`{name}` is listed twice");
        let classes = function.classes().with_context(|| format!("in `{name}`"))?;
        match (imports.0.get(*name), since) {
            (Some(imported), None) => {
                ensure!(*imported == classes, "`{name}` passes {classes:?}, but cust_raw {imported:?}");
                writeln!(forward, "                {name}({arguments});")?;
            }
            (None, Some(since)) => writeln!(own, "                {name}({arguments}) since \"{since}\";")?,
            (Some(_), Some(_)) => bail!("`{name}` is no newer than cust_raw, which imports it; drop its `since`"),
            (None, None) => bail!("`{name}` is not imported by cust_raw; say the CUDA release it came with"),
        }
    }
    let mut stubs = String::new();
    for name in imports.0.keys().filter(|name| functions.iter().all(|function| function.name != **name)) {
        writeln!(stubs, "    {name}")?;
    }
    Ok([
        ("functions.rs", FUNCTIONS.replace("@forward", forward.trim_end()).replace("@own", own.trim_end())),
        ("stubs.rs", STUBS.replace("@stubs", stubs.trim_end())),
    ])
}

const FUNCTIONS: &str = "\
// Generated by `cargo xtask forwarders` from functions.list; change that file instead.

//! The driver functions that have types here.

/// Passes the list of functions to the macro `expand`.
///
/// Functions that `cust_raw` imports come first, then newer ones, each with its CUDA release.
macro_rules! driver_functions {
    ($expand:ident) => {
        $expand! {
            forward {
@forward
            }
            own {
@own
            }
        }
    };
}

pub(crate) use driver_functions;
";

const STUBS: &str = "\
// Generated by `cargo xtask forwarders` from what `cust_raw` imports beyond functions.list.

//! Symbols that `cust_raw` imports and Trefoil never calls.

use crate::forward::stubs;

stubs! {
@stubs
}
";

#[cfg(test)]
mod tests {
    use super::*;

    const BINDINGS: &str = "
        pub enum cudaError_enum { OK = 0 }
        pub enum CUmode_enum { A = 0 }
        pub use self::CUmode_enum as CUmode;
        pub type CUstream = *mut CUstream_st;
        pub type CUdeviceptr = ::std::os::raw::c_ulonglong;
        extern \"C\" { pub fn cuOne(mode: CUmode, out: *mut CUstream, at: CUdeviceptr) -> CUresult; }
        extern \"C\" { pub fn cuTwo(record: CUrecord) -> CUresult; }
    ";

    fn generated(list: &str) -> Result<[(&'static str, String); 2]> {
        generate(list, &Imports::parse(BINDINGS)?)
    }

    #[test]
    fn listed_functions_are_forwarded_and_the_rest_are_stubs() {
        let list =
            "# comment\n\ncuOne(mode: u32, out: *mut CUstream, at: CUdeviceptr)\ncuNew(size: usize) since 12.0\n";
        let [(_, functions), (_, stubs)] = generated(list).unwrap();
        assert!(functions.contains(
            "    cuOne(mode: u32, out: *mut CUstream, at: CUdeviceptr);\n            }\n            own {\n"
        ));
        assert!(functions.contains("    cuNew(size: usize) since \"12.0\";\n            }\n        }\n    };\n}\n"));
        assert!(stubs.ends_with("stubs! {\n    cuTwo\n}\n"));
    }

    #[test]
    fn a_signature_that_disagrees_with_the_bindings_is_refused() {
        for bad in [
            "cuOne(mode: u64, out: *mut CUstream, at: CUdeviceptr)",
            "cuOne(mode: u32, out: *mut CUstream)",
            "cuOne(mode: Strange, out: *mut CUstream, at: CUdeviceptr)",
            "cuOne(mode: u32, out: *mut CUstream, at: CUdeviceptr) since 12.0",
            "cuNew(size: usize)",
            "cuNew(size: usize) since 12.0\ncuNew(size: usize) since 12.0",
            "cuNew size",
            "cuNew(size: usize) from 12.0",
        ] {
            assert!(generated(bad).is_err(), "{bad}");
        }
    }
}
