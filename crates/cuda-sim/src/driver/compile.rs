//! Checks of a driver's compiler beyond the executor's.
//!
//! They reject texts by version, target and size.

use std::collections::BTreeSet;

use cuda_loader::Status;
use ptx::ast::{Address, AddressBase, Function, Linkage, Module, Operand, Space, Symbol, Variable};

use super::{
    isa::{self, PtxTarget, Version},
    limits,
};

/// A refusal: the code for the caller, and the reason for its log.
type CompileFailure = (Status, String);

/// First value of a directive in the head of a PTX text.
fn directive<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = ptx.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    lines.find_map(|line| line.strip_prefix(name)?.split([' ', '\t', ',']).find(|word| !word.is_empty()))
}

/// Why the compiler of a release, for devices of a capability, refuses a text by its head.
pub(super) fn refuse_head(ptx: &str, capability: (u32, u32), release: i32) -> Option<CompileFailure> {
    let invalid = |reason: String| Some((Status::INVALID_PTX, reason));
    let version = directive(ptx, ".version").and_then(|text| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    let Some(version) = version else { return invalid("no .version directive".into()) };
    let newest = isa::newest(release).unwrap_or_default();
    if version > newest {
        let reason = format!("PTX {} is newer than {}, the newest of this driver", dotted(version), dotted(newest));
        return Some((Status::UNSUPPORTED_PTX_VERSION, reason));
    }
    let Some(name) = directive(ptx, ".target") else { return invalid("no .target directive".into()) };
    let Some(target) = PtxTarget::named(name) else { return invalid(format!("unknown target `{name}`")) };
    if version < target.since {
        return invalid(format!("PTX .version {} does not support .target {name}", dotted(version)));
    }
    if !target.runs_on(capability) {
        let (major, minor) = capability;
        return invalid(format!(
            "SM version specified by .target ({name}) is higher than that of the device (sm_{major}{minor})"
        ));
    }
    None
}

fn dotted((major, minor): Version) -> String {
    format!("{major}.{minor}")
}

/// The reason why a compiler rejects a well-formed module.
///
/// Its data needs more memory than any device has.
pub(super) fn refuse_sizes(module: &Module) -> Option<CompileFailure> {
    let invalid = |reason: String| Some((Status::INVALID_PTX, reason));
    let constant = |variable: &&Variable| variable.space == Space::Const && variable.linkage != Linkage::Extern;
    let constants: u64 = module.globals.iter().filter(constant).map(bytes_of).sum();
    if constants > limits::CONSTANT {
        let most = limits::CONSTANT;
        return invalid(format!("the module uses too much constant memory ({constants} bytes, {most} max)"));
    }
    for (entry, _) in module.entries() {
        let (shared, most) = (static_shared(module, entry), u64::from(limits::SHARED_DEFAULT));
        if shared > most {
            let name = &entry.name;
            return invalid(format!("entry `{name}` uses too much shared memory ({shared} bytes, {most} max)"));
        }
    }
    None
}

/// Bytes of static shared memory that a kernel and the functions it calls name.
fn static_shared(module: &Module, entry: &Function) -> u64 {
    let (mut seen, mut open) = (BTreeSet::new(), vec![entry]);
    let mut bytes: u64 = 0;
    while let Some(function) = open.pop() {
        let Some(body) = &function.body else { continue };
        let own = body.variables.iter().filter(|variable| variable.space == Space::Shared);
        bytes = own.fold(bytes, |sum, variable| sum.next_multiple_of(variable.alignment().max(1)) + bytes_of(variable));
        let lists = body.targets.iter().flat_map(|list| &list.targets);
        let operands = body.instructions.iter().flat_map(|instruction| &instruction.operands).chain(lists);
        for name in operands.filter_map(named).filter(|name| seen.insert(*name)) {
            match module.global(name) {
                Some(variable) if variable.space == Space::Shared => {
                    bytes = bytes.next_multiple_of(variable.alignment().max(1)) + bytes_of(variable);
                }
                _ => open.extend(module.function(name)),
            }
        }
    }
    bytes
}

/// Bytes of a variable, capped so that sums of them stay far from overflow.
fn bytes_of(variable: &Variable) -> u64 {
    variable.bytes().min(1 << 40)
}

/// The variable or function of the module that an operand names.
fn named(operand: &Operand) -> Option<&str> {
    match operand {
        Operand::Symbol { symbol: Symbol::Module(name), .. }
        | Operand::Address(Address { base: AddressBase::Symbol(Symbol::Module(name)), .. }) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_refused_by_its_head_as_a_driver_does() {
        let code = |text: &str, capability| refuse_head(text, capability, 12_080).map(|(code, _)| code);
        let ptx = "// made by hand\n.version 7.0\n.target sm_80, debug // target\n.address_size 64\n";
        assert_eq!(code(ptx, (8, 0)), None);
        assert_eq!(code(ptx, (9, 0)), None);
        assert_eq!(code(ptx, (7, 5)), Some(Status::INVALID_PTX));
        assert_eq!(code(".version 9.9\n.target sm_80", (8, 0)), Some(Status::UNSUPPORTED_PTX_VERSION));
        assert_eq!(code(".version 8.0\n.target sm_90a", (9, 0)), None);
        assert_eq!(code(".version 8.0\n.target sm_90a", (10, 0)), Some(Status::INVALID_PTX));
        assert_eq!(code(".version 7.0\n", (8, 0)), Some(Status::INVALID_PTX));
        assert_eq!(code("", (8, 0)), Some(Status::INVALID_PTX));
    }

    #[test]
    fn versions_fit_the_target_and_the_release() {
        let code = |version: &str, target: &str, release| {
            refuse_head(&format!(".version {version}\n.target {target}\n"), (9, 0), release).map(|(code, _)| code)
        };
        assert_eq!(code("6.5", "sm_80", 12_040), Some(Status::INVALID_PTX));
        assert_eq!(code("7.7", "sm_90", 12_040), Some(Status::INVALID_PTX));
        assert_eq!(code("7.8", "sm_90", 12_040), None);
        assert_eq!(code("7.8", "sm_90a", 12_040), Some(Status::INVALID_PTX));
        assert_eq!(code("7.0", "sm_81", 12_040), Some(Status::INVALID_PTX));
        // The newest text that each release compiles.
        assert_eq!(code("7.8", "sm_80", 11_080), None);
        assert_eq!(code("8.0", "sm_80", 11_080), Some(Status::UNSUPPORTED_PTX_VERSION));
        assert_eq!(code("9.0", "sm_80", 13_000), None);
        assert_eq!(code("9.1", "sm_80", 13_000), Some(Status::UNSUPPORTED_PTX_VERSION));
    }

    #[test]
    fn shared_variables_count_where_they_are_named() {
        let shared = |text: &str, entry: &str| {
            let head = ".version 7.0\n.target sm_80\n.address_size 64\n";
            let module = ptx::parse(&format!("{head}{text}")).unwrap();
            static_shared(&module, module.function(entry).unwrap())
        };
        let name = |symbol| format!("{{ .reg .b32 %r<2>; mov.u32 %r1, {symbol}; ret; }}");
        let (first, second) = (name("s"), name("u"));
        let variables = ".shared .align 4 .b8 s[30000];\n.shared .align 4 .b8 u[30000];\n";
        let kernels = format!("{variables}.visible .entry k() {first}\n.visible .entry j() {second}\n");
        assert_eq!((shared(&kernels, "k"), shared(&kernels, "j")), (30_000, 30_000));
        let called = "{ .reg .b32 %r<2>; .shared .align 8 .b8 w[16]; mov.u32 %r1, u; ret; }";
        let caller = "{ .reg .b32 %r<2>; .shared .b8 v[3]; mov.u32 %r1, s; call f; ret; }";
        let calls = format!("{variables}.func f() {called}\n.visible .entry k() {caller}\n");
        assert!((60_019..60_032).contains(&shared(&calls, "k")), "{}", shared(&calls, "k"));
    }
}
