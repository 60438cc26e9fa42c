//! Places in a source file where a mutant can be put.

use std::ops::Range;

/// How the text at a site changes. Ranges are bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The text in `at`, an operator or a literal within the expression, becomes `new`.
    Replace { at: Range<usize>, new: String },
    /// The condition of an `if` that returns an error is false.
    Pass,
    /// A statement that ends in `?;` does not run.
    Drop,
    /// The result of a function that returns `bool` is negated.
    Negate,
}

/// One possible mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// The expression or statement, in bytes of the file.
    pub(super) whole: Range<usize>,
    pub(super) change: Change,
    /// Line of the change, from 1.
    pub(super) line: usize,
    /// The function, with the type it is a method of.
    pub(super) function: String,
}

impl Site {
    /// The nesting order of sites of the same expression.
    ///
    /// A change that wraps the expression is outside of a change that rewrites it.
    pub(super) fn rank(&self) -> u8 {
        match self.change {
            Change::Negate => 0,
            Change::Pass | Change::Drop => 1,
            Change::Replace { .. } => 2,
        }
    }

    /// The source line, and the same line with the mutant.
    pub(super) fn lines(&self, text: &str) -> [String; 2] {
        let whole = &text[self.whole.clone()];
        let (at, new) = match &self.change {
            Change::Replace { at, new } => (at.clone(), new.clone()),
            Change::Pass => (self.whole.clone(), "false".to_owned()),
            Change::Drop => (self.whole.clone(), String::new()),
            Change::Negate => (self.whole.clone(), format!("!({whole})")),
        };
        let start = text[..at.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[at.end..].find('\n').map_or(text.len(), |after| at.end + after);
        let mutated = format!("{}{new}{}", &text[start..at.start], &text[at.end..end]);
        [&text[start..end], &mutated].map(one_line)
    }
}

/// The text with each run of white space as one space.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_shown_as_its_source_line() {
        let text = "fn f() {\n    if a < b\n        && c {\n}\n";
        let at = text.find('<').unwrap();
        let site = |whole, change| Site { whole, change, line: 2, function: "f".into() };
        let replace = site(at - 2..at + 3, Change::Replace { at: at..at + 1, new: "<=".into() });
        assert_eq!(replace.lines(text), ["if a < b", "if a <= b"]);
        let end = text.find(" {\n}").unwrap();
        assert_eq!(site(at - 2..end, Change::Pass).lines(text), ["if a < b && c {", "if false {"]);
        assert_eq!(site(at - 2..at + 3, Change::Negate).lines(text), ["if a < b", "if !(a < b)"]);
    }
}
