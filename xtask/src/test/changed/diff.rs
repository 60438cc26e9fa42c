//! Changed files, from git.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// The changes of the working tree since a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diff {
    /// The revision, as a commit.
    pub(super) since: String,
    /// Changed, removed, added and untracked files.
    ///
    /// Paths are below the root, with `/` as the separator.
    pub(super) files: BTreeSet<String>,
}

impl Diff {
    /// The changes since `revision`.
    ///
    /// Without a revision, they are the changes since the branch left `main`, so that a clean
    /// branch tests all its commits.
    pub(super) fn read(sh: &Shell, revision: Option<&str>) -> Result<Self> {
        let since = match revision {
            Some(revision) => commit(sh, revision).with_context(|| format!("git has no revision `{revision}`"))?,
            None => base(sh)?,
        };
        // Without renames, so that the old path counts as changed too.
        let tracked = cmd!(sh, "git diff --name-only --no-renames -z {since} --").quiet().read()?;
        let untracked = cmd!(sh, "git ls-files --others --exclude-standard -z").quiet().read()?;
        Ok(Self { since, files: [split(&tracked), split(&untracked)].concat().into_iter().collect() })
    }
}

/// The merge base of `HEAD` with the upstream of `main`, or with `main` if it has none.
///
/// It is `HEAD` in a checkout without `main`.
fn base(sh: &Shell) -> Result<String> {
    let main = ["main@{upstream}", "main"].into_iter().find_map(|name| commit(sh, name).ok());
    let Some(main) = main else { return commit(sh, "HEAD") };
    Ok(cmd!(sh, "git merge-base HEAD {main}").quiet().ignore_stderr().read()?)
}

fn commit(sh: &Shell, revision: &str) -> Result<String> {
    let commit = format!("{revision}^{{commit}}");
    Ok(cmd!(sh, "git rev-parse --verify --quiet {commit}").quiet().ignore_stderr().read()?)
}

/// Paths that end with NUL.
fn split(output: &str) -> Vec<String> {
    output.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with one commit on `main`.
    fn repository() -> (Shell, xshell::TempDir) {
        let sh = Shell::new().unwrap();
        let folder = sh.create_temp_dir().unwrap();
        sh.change_dir(folder.path());
        git(&sh, "init --quiet --initial-branch main");
        sh.write_file("kept", "1").unwrap();
        sh.write_file("old name", "1\n2\n3\n").unwrap();
        save(&sh);
        (sh, folder)
    }

    fn git(sh: &Shell, arguments: &str) {
        let arguments = arguments.split(' ');
        cmd!(sh, "git -c user.name=a -c user.email=a@b {arguments...}").quiet().run().unwrap();
    }

    fn save(sh: &Shell) {
        git(sh, "add --all");
        git(sh, "commit --quiet --message change");
    }

    fn files(sh: &Shell, revision: Option<&str>) -> Vec<String> {
        Diff::read(sh, revision).unwrap().files.into_iter().collect()
    }

    #[test]
    fn a_branch_counts_from_where_it_left_main_with_the_working_tree() {
        let (sh, _folder) = repository();
        git(&sh, "checkout --quiet -b branch");
        sh.write_file("new name", "1\n2\n3\n").unwrap();
        sh.remove_path("old name").unwrap();
        save(&sh);
        sh.write_file("untracked \u{e9}", "1").unwrap();
        assert_eq!(files(&sh, None), ["new name", "old name", "untracked \u{e9}"]);
        assert_eq!(files(&sh, Some("HEAD")), ["untracked \u{e9}"]);
        git(&sh, "checkout --quiet main");
        assert_eq!(files(&sh, None), ["untracked \u{e9}"]);
    }

    #[test]
    fn an_unknown_revision_is_an_error() {
        let (sh, _folder) = repository();
        assert!(Diff::read(&sh, Some("nowhere")).is_err());
    }
}
