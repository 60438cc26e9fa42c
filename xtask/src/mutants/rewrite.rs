//! A source file with chosen mutants, each behind a choice at run time.

use std::{cmp::Reverse, ops::Range};

use super::site::{Change, Site};

/// Path of the function that returns whether a mutant is active.
const IS_ON: &str = "crate::__mutant::on";

/// A chosen site with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) id: u32,
    pub(super) site: Site,
}

/// A rewritten file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// Where each mutant stands in the new text, in bytes.
    pub(super) places: Vec<(u32, Range<usize>)>,
}

/// Rewrites `text` with the mutants `chosen`.
///
/// A mutated operator stands in a separate branch, next to a branch with the original: both have
/// the same type, evaluate their operands once, and may move them.
pub(super) fn rewrite(text: &str, chosen: &[Chosen]) -> Rewritten {
    let mut sorted: Vec<&Chosen> = chosen.iter().collect();
    sorted.sort_by_key(|chosen| (chosen.site.whole.start, Reverse(chosen.site.whole.end), chosen.site.rank()));
    let mut rewritten = Rewritten::default();
    rewritten.region(text, 0..text.len(), &sorted);
    rewritten
}

impl Rewritten {
    /// Appends a range of the original with the mutants in it.
    ///
    /// The mutants are sorted from the outside to the inside.
    fn region(&mut self, text: &str, range: Range<usize>, mut chosen: &[&Chosen]) {
        let mut at = range.start;
        while let Some((outer, rest)) = chosen.split_first() {
            let whole = outer.site.whole.clone();
            let inner = rest.iter().take_while(|inner| inner.site.whole.end <= whole.end).count();
            let (inner, rest) = rest.split_at(inner);
            self.text.push_str(&text[at..whole.start]);
            let start = self.text.len();
            self.mutant(text, outer, inner);
            self.places.push((outer.id, start..self.text.len()));
            (at, chosen) = (whole.end, rest);
        }
        self.text.push_str(&text[at..range.end]);
    }

    /// Appends a site with its mutant and those within it.
    fn mutant(&mut self, text: &str, chosen: &Chosen, inner: &[&Chosen]) {
        let Chosen { id, site: Site { whole, change, .. } } = chosen;
        let (before, after) = match change {
            Change::Replace { at, new } => {
                let (left, right) = (&text[whole.start..at.start], &text[at.end..whole.end]);
                (format!("(if {IS_ON}({id}) {{ {left}{new}{right} }} else {{ "), " })")
            }
            Change::Pass => (format!("(!{IS_ON}({id}) && ("), "))"),
            Change::Drop => (format!("if !{IS_ON}({id}) {{ "), " }"),
            Change::Negate => (format!("({IS_ON}({id}) ^ ("), "))"),
        };
        self.text.push_str(&before);
        self.region(text, whole.clone(), inner);
        self.text.push_str(after);
    }
}

/// The module that [`IS_ON`] is in, for numbers below `count`.
///
/// It is appended to the root of each crate with mutants.
///
/// The variable `MUTANT` has the active number. With `MUTANT_SEEN` none is active, and the numbers
/// that run are appended to the file of that name, so that a mutant is only tried on programs that
/// reach it.
pub(super) fn selector(count: u32) -> String {
    format!(
        r#"
#[allow(clippy::all, missing_docs, unreachable_pub)]
mod __mutant {{
    extern crate std;
    use std::{{env, fs, io::Write as _, string::String, sync::{{OnceLock, atomic::{{AtomicBool, Ordering::Relaxed}}}}}};

    static CHOICE: OnceLock<(u32, Option<String>)> = OnceLock::new();
    static SEEN: [AtomicBool; {count}] = [const {{ AtomicBool::new(false) }}; {count}];

    pub(crate) fn on(id: u32) -> bool {{
        let (active, seen) = CHOICE.get_or_init(|| {{
            let active = env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(u32::MAX);
            (active, env::var("MUTANT_SEEN").ok())
        }});
        if let Some(path) = seen
            && !SEEN[id as usize].swap(true, Relaxed)
            && let Ok(mut file) = fs::OpenOptions::new().create(true).append(true).open(path)
        {{
            file.write_all(std::format!("{{id}}\n").as_bytes()).unwrap_or_default();
        }}
        *active == id
    }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(id: u32, whole: Range<usize>, change: Change) -> Chosen {
        Chosen { id, site: Site { whole, change, line: 1, function: "f".into() } }
    }

    #[test]
    fn mutants_nest_and_their_places_are_recorded() {
        let text = "x(a < b + 1)";
        let less = chosen(7, 2..11, Change::Replace { at: 4..5, new: "<=".into() });
        let plus = chosen(8, 6..11, Change::Replace { at: 8..9, new: "-".into() });
        let negate = chosen(9, 2..11, Change::Negate);
        let rewritten = rewrite(text, &[plus, less, negate]);
        let on = IS_ON;
        let inner = format!("(if {on}(8) {{ b - 1 }} else {{ b + 1 }})");
        let middle = format!("(if {on}(7) {{ a <= b + 1 }} else {{ a < {inner} }})");
        let outer = format!("({on}(9) ^ ({middle}))");
        assert_eq!(rewritten.text, format!("x({outer})"));
        let place = |id: u32| rewritten.places.iter().find(|(other, _)| *other == id).unwrap().1.clone();
        for (id, expected) in [(7, middle), (8, inner), (9, outer)] {
            assert_eq!(rewritten.text[place(id)], expected, "{id}");
        }
    }

    #[test]
    fn guards_and_statements_are_wrapped() {
        let text = "if c { e }\ng()?;";
        let rewritten = rewrite(text, &[chosen(0, 3..4, Change::Pass), chosen(1, 11..16, Change::Drop)]);
        let expected = format!("if (!{IS_ON}(0) && (c)) {{ e }}\nif !{IS_ON}(1) {{ g()?; }}");
        assert_eq!(rewritten.text, expected);
    }
}
