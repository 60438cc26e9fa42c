//! The lines of `data/typing.txt`, for the test that holds this crate to their verdicts and for the build task that asks
//! the assembler again.

/// The assembler's verdict on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It assembles.
    Ok,
    /// It is refused, and reported along with other faults.
    Bad,
    /// It is refused, and ends the assembler's run.
    Fatal,
}

/// Where the lines of a group stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the kernel of the frame, each in braces.
    Body,
    /// At module scope.
    Module,
    /// Alone: a line is a whole text.
    Text,
}

/// A line of PTX and its verdict.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'text> {
    /// Line of the file, from 1.
    pub(crate) number: usize,
    pub(crate) verdict: Verdict,
    pub(crate) ptx: &'text str,
}

/// Lines of one version and target.
#[derive(Clone, Debug)]
pub(crate) struct Group<'text> {
    pub(crate) place: Place,
    /// Such as `7.0`; empty for whole texts.
    version: &'text str,
    /// Such as `sm_80`; empty for whole texts.
    pub(crate) target: &'text str,
    pub(crate) lines: Vec<Line<'text>>,
}

/// The whole file.
#[derive(Clone, Debug)]
pub(crate) struct Corpus<'text> {
    /// The kernel around lines: what comes before and after them.
    frame: (String, String),
    pub(crate) groups: Vec<Group<'text>>,
}

impl<'text> Corpus<'text> {
    /// Reads the file.
    ///
    /// # Errors
    /// The first line that is neither comment, frame, head of a group nor verdict and PTX.
    pub(crate) fn parse(text: &'text str) -> Result<Self, String> {
        let mut frame = String::new();
        let mut groups: Vec<Group<'text>> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = || format!("line {}: `{line}`", index + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(part) = line.strip_prefix("| ") {
                frame.push_str(part);
                frame.push('\n');
                continue;
            }
            if let Some(head) = line.strip_prefix("== ") {
                let (place, version, target) = match *head.split(' ').collect::<Vec<_>>() {
                    [version, target, "body"] => (Place::Body, version, target),
                    [version, target, "module"] => (Place::Module, version, target),
                    ["text"] => (Place::Text, "", ""),
                    _ => return Err(wrong()),
                };
                groups.push(Group { place, version, target, lines: Vec::new() });
                continue;
            }
            let (verdict, ptx) = line.split_once(' ').ok_or_else(wrong)?;
            let verdict = match verdict {
                "ok" => Verdict::Ok,
                "bad" => Verdict::Bad,
                "fatal" => Verdict::Fatal,
                _ => return Err(wrong()),
            };
            let line = Line { number: index + 1, verdict, ptx: ptx.trim_start() };
            groups.last_mut().ok_or_else(wrong)?.lines.push(line);
        }
        let (before, after) = frame.split_once("{ LINE }\n").ok_or("no frame with `{ LINE }`")?;
        Ok(Self { frame: (before.to_owned(), after.to_owned()), groups })
    }

    /// The text that holds `lines` of `group`, one to a line, and how many lines stand before them.
    pub(crate) fn module(&self, group: &Group<'_>, lines: &[Line<'_>]) -> (String, usize) {
        let directives = ".version VERSION\n.target TARGET\n.address_size 64\n";
        let (before, open, close, after) = match group.place {
            Place::Body => (&*self.frame.0, "{ ", " }\n", &*self.frame.1),
            Place::Module => (directives, "", "\n", ""),
            Place::Text => ("", "", "\n", ""),
        };
        let before = before.replace("VERSION", group.version).replace("TARGET", group.target);
        let first = before.lines().count();
        let text = |line: &Line<'_>| match group.place {
            Place::Module => own_names(line.ptx, line.number),
            Place::Body | Place::Text => line.ptx.to_owned(),
        };
        let lines: String = lines.iter().map(|line| format!("{open}{}{close}", text(line))).collect();
        (before + &lines + after, first)
    }
}

/// `ptx` with a number after every name of one small letter, so that the names of two lines differ.
fn own_names(ptx: &str, number: usize) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    let mut text = String::new();
    for word in ptx.split_inclusive(|c| !is_name(c)) {
        let name = word.trim_end_matches(|c| !is_name(c));
        text.push_str(name);
        if matches!(name.as_bytes(), [b'a'..=b'z']) {
            text.push_str(&number.to_string());
        }
        text.push_str(&word[name.len()..]);
    }
    text
}
