//! `.version` and `.target`.

use super::{Mistake, Reason, gates::Release};
use crate::ast::Module;

/// Major versions with the last minor one of each.
const VERSIONS: [(u32, u32); 4] = [(6, 5), (7, 8), (8, 8), (9, 5)];

/// Architectures from `sm_30` on, with the version of PTX that introduced each.
const ARCHITECTURES: [(&str, (u32, u32)); 35] = [
    ("30", (3, 0)),
    ("32", (4, 0)),
    ("35", (3, 1)),
    ("37", (4, 1)),
    ("50", (4, 0)),
    ("52", (4, 1)),
    ("53", (4, 2)),
    ("60", (5, 0)),
    ("61", (5, 0)),
    ("62", (5, 0)),
    ("70", (6, 0)),
    ("72", (6, 1)),
    ("75", (6, 3)),
    ("80", (7, 0)),
    ("86", (7, 1)),
    ("87", (7, 4)),
    ("88", (9, 0)),
    ("89", (7, 8)),
    ("90", (7, 8)),
    ("90a", (8, 0)),
    ("100", (8, 6)),
    ("100a", (8, 6)),
    ("100f", (8, 8)),
    ("103", (8, 8)),
    ("103a", (8, 8)),
    ("103f", (8, 8)),
    ("110", (9, 0)),
    ("110a", (9, 0)),
    ("110f", (9, 0)),
    ("120", (8, 7)),
    ("120a", (8, 7)),
    ("120f", (8, 8)),
    ("121", (8, 8)),
    ("121a", (8, 8)),
    ("121f", (8, 8)),
];

/// What may follow the architecture.
const OPTIONS: [&str; 3] = ["debug", "texmode_independent", "texmode_unified"];

/// The line that heads are reported at.
const LINE: u32 = 1;

/// The architecture of a target: `80` of `sm_80` or `compute_80`.
#[must_use]
pub fn architecture(target: &str) -> Option<&str> {
    target.strip_prefix("sm_").or_else(|| target.strip_prefix("compute_"))
}

/// The version of PTX that introduced an architecture, such as `80` or `90a`.
///
/// `None` if there is no such architecture from `30` on.
#[must_use]
pub fn first_version(architecture: &str) -> Option<(u32, u32)> {
    ARCHITECTURES.iter().find(|(known, _)| *known == architecture).map(|(_, since)| *since)
}

pub(super) fn check(module: &Module) -> Vec<Mistake> {
    let mistake = |reason| vec![Mistake { line: LINE, reason }];
    let (major, minor) = module.version;
    if !VERSIONS.iter().any(|(known, last)| *known == major && minor <= *last) {
        return mistake(Reason::Version(module.version));
    }
    let text = module.target.first().map_or("", |target| &**target);
    let known = architecture(text).and_then(first_version);
    let Some(since) = known else { return mistake(Reason::Target(text.to_owned())) };
    if let Some(option) = module.target.iter().skip(1).find(|option| !OPTIONS.contains(&&***option)) {
        return mistake(Reason::Target(option.to_string()));
    }
    if module.version < since {
        let what = format!("target {text}");
        return mistake(Reason::TooOld { what, since, got: module.version });
    }
    if module.address_size != 64 {
        return mistake(Reason::AddressSize(module.address_size));
    }
    let debug = module.target.iter().any(|option| &**option == "debug");
    if debug && !module.has_sections { mistake(Reason::Debug) } else { Vec::new() }
}

/// The module's version and target.
///
/// An unreadable target has already been reported; it allows everything.
pub(super) fn release(module: &Module) -> Release {
    let target = module.target.first().and_then(|target| architecture(target));
    let target = target.and_then(|name| name.trim_end_matches(['a', 'f']).parse().ok());
    Release { version: module.version, target: target.unwrap_or(u32::MAX) }
}
