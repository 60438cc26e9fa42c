//! The verdicts of `crates/ptx/tests/data/typing.txt`, asked of the assembler again.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, anyhow};

use self::corpus::{Corpus, Group, Line, Place, Verdict};
use super::{ptxas, report};
use crate::{pool::on_every_core, step::skip, tally::Tally};

#[path = "../../../crates/ptx/tests/text/corpus.rs"]
mod corpus;

/// Where the verdicts are.
const FILE: &str = "crates/ptx/tests/data/typing.txt";
/// The oldest architecture that this assembler makes code for.
///
/// Texts for older architectures are assembled for it too.
const OLDEST: u32 = 75;
/// The architecture for whole texts.
const NEWEST: &str = "sm_90";

/// Lines that the assembler gets at once, and its expected verdict.
struct Batch<'corpus> {
    group: &'corpus Group<'corpus>,
    lines: Vec<Line<'corpus>>,
}

/// Checks every verdict.
pub(super) fn run(root: &Path) -> Result<Tally> {
    let Some(assembler) = ptxas::find(root, "ptxas") else {
        return Ok(skip("verdicts on lines of PTX", ptxas::NONE_FOUND));
    };
    let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    let corpus = Corpus::parse(&text).map_err(|line| anyhow!("cannot parse {FILE}: {line}"))?;
    let folder = root.join("target/typing");
    fs::create_dir_all(&folder)?;
    let batches = corpus.groups.iter().flat_map(batches).enumerate();
    on_every_core(batches, |(number, batch)| {
        let file = folder.join(format!("{number}.ptx"));
        let findings = check(&assembler, &file, &corpus, &batch)?;
        let head = &batch.lines[0];
        Ok(if findings.is_empty() { Tally::default() } else { report(&format!("{FILE}:{}", head.number), &findings) })
    })
    .map(|mut tally| {
        tally += Tally::of("verdicts on lines of PTX", tally.failed.is_empty());
        tally
    })
}

/// Batches of lines that are assembled in one run.
///
/// They are the lines assembled together, the lines refused together, and single lines that end a
/// run by themselves.
fn batches<'corpus>(group: &'corpus Group<'corpus>) -> Vec<Batch<'corpus>> {
    let together = |line: &&Line<'_>| group.place != Place::Text && line.verdict != Verdict::Fatal;
    let of = |verdict| group.lines.iter().filter(together).filter(move |line| line.verdict == verdict).copied();
    let shared = [Verdict::Ok, Verdict::Bad].map(|verdict| of(verdict).collect::<Vec<_>>());
    let alone = group.lines.iter().filter(|line| !together(line)).map(|line| vec![*line]);
    let lists = shared.into_iter().filter(|lines| !lines.is_empty()).chain(alone);
    lists.map(|lines| Batch { group, lines }).collect()
}

/// Differences between the assembler's verdicts and the file.
fn check(assembler: &Path, file: &PathBuf, corpus: &Corpus<'_>, batch: &Batch<'_>) -> Result<Vec<String>> {
    let (text, before) = corpus.module(batch.group, &batch.lines);
    fs::write(file, text)?;
    let Output { status, stderr, .. } = Command::new(assembler)
        .arg(format!("-arch={}", architecture(batch.group.target)))
        .arg(file)
        .args(["-o", "/dev/null"])
        .output()
        .with_context(|| format!("cannot start {}", assembler.display()))?;
    let said = String::from_utf8_lossy(&stderr);
    let refused = errors(&said);
    let at = |line: &Line<'_>, what: &str| format!("{FILE}:{}: `{}` {what}", line.number, line.ptx);
    let numbered = || batch.lines.iter().zip(before + 1..);
    Ok(match batch.lines[0].verdict {
        Verdict::Ok if status.success() => Vec::new(),
        Verdict::Ok if refused.is_empty() => vec![format!("lines that assemble alone do not together:\n{said}")],
        Verdict::Ok => {
            let wrong = numbered().filter(|(_, number)| refused.contains(number));
            wrong.map(|(line, _)| at(line, &format!("is refused:\n{said}"))).collect()
        }
        Verdict::Bad => {
            let wrong = numbered().filter(|(_, number)| !refused.contains(number));
            wrong.map(|(line, _)| at(line, "is not refused along with others")).collect()
        }
        Verdict::Fatal if status.success() => vec![at(&batch.lines[0], "assembles")],
        Verdict::Fatal => Vec::new(),
    })
}

/// The architecture to assemble for.
fn architecture(target: &str) -> String {
    match target.strip_prefix("sm_").and_then(|number| number.parse::<u32>().ok()) {
        None => NEWEST.to_owned(),
        Some(number) => format!("sm_{}", number.max(OLDEST)),
    }
}

/// The lines that the assembler reports errors for.
///
/// A report is `ptxas 1.ptx, line 14; error : Arguments mismatch`.
fn errors(said: &str) -> HashSet<usize> {
    let number = |line: &str| {
        let (_, rest) = line.split_once(", line ")?;
        let (number, what) = rest.split_once(';')?;
        let error = ["error", "fatal"].iter().any(|kind| what.trim_start().starts_with(kind));
        number.parse().ok().filter(|_| error)
    };
    said.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_assembler_are_read() {
        let said = "ptxas a.ptx, line 14; error   : Arguments mismatch for instruction 'add'\n\
            ptxas a.ptx, line 15; warning : Unexpected instruction types\n\
            ptxas a.ptx, line 16; fatal   : Parsing error near ';': syntax error\n\
            ptxas fatal   : Ptx assembly aborted due to errors\n";
        assert_eq!(errors(said), HashSet::from([14, 16]));
        assert_eq!((architecture("sm_50"), architecture("sm_80")), ("sm_75".to_owned(), "sm_80".to_owned()));
    }

    #[test]
    fn lines_are_batched_by_what_the_assembler_does_with_them() {
        let text = "| .version VERSION\n| { LINE }\n| }\n== 7.0 sm_80 body\nok a;\nfatal b;\nbad c;\nok d;\n\
            == 7.0 sm_80 module\nok e;\nok g f;\nfatal f;\n";
        let corpus = Corpus::parse(text).unwrap();
        let batches: Vec<_> = corpus.groups.iter().flat_map(batches).collect();
        let lines = |batch: &Batch<'_>| batch.lines.iter().map(|line| line.ptx.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            batches.iter().map(lines).collect::<Vec<_>>(),
            [vec!["a;", "d;"], vec!["c;"], vec!["b;"], vec!["e;", "g f;"], vec!["f;"]]
        );
        assert_eq!(
            corpus.module(batches[0].group, &batches[0].lines),
            (".version 7.0\n{ a; }\n{ d; }\n}\n".to_owned(), 1)
        );
        let (module, _) = corpus.module(batches[3].group, &batches[3].lines);
        assert!(module.ends_with(".address_size 64\ne10;\ng11 f11;\n"), "{module}");
        assert!(Corpus::parse("== 7.0 sm_80 body\nmaybe a;\n").is_err());
    }
}
