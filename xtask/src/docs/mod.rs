//! Pages that are made from other files: performance, and the README of each library.

mod performance;
mod readmes;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::Shell;

use crate::tally::Tally;

/// Path and text of each page.
fn pages(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut pages = readmes::readmes(root)?;
    pages.push((root.join("docs/performance.md"), performance::page(&root.join("docs/performance"))?));
    Ok(pages)
}

/// Writes all pages.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    for (path, text) in pages(&sh.current_dir())? {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Tally::of("pages that are made from other files", true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_up_to_date() {
        let root = crate::workspace_root().unwrap();
        for (path, text) in pages(&root).unwrap() {
            let committed = fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == text, "run `cargo xtask docs`: {} differs", path.display());
        }
    }
}
