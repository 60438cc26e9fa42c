//! Text from elsewhere, made fit to be printed.

/// The most characters that are shown of a message or a name from elsewhere.
const MOST: usize = 200;

/// The number of last characters shown of a text that is cut.
///
/// The place of an error stands there.
const TAIL: usize = 50;

/// A message or a name on one line, safe to print.
///
/// Characters that steer a terminal are escaped. If the text is long, its middle is left out.
pub(crate) fn shown(text: &str) -> String {
    cut(text, MOST)
}

/// The text on one line, with terminal controls escaped and a long middle left out.
///
/// The middle of a text of more than `most` characters is left out.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut places = text.char_indices().map(|(at, _)| at);
    let Some(head) = places.clone().nth(most.saturating_sub(TAIL)) else { return escaped(text, |_| false) };
    let tail = places.nth_back(TAIL - 1).unwrap_or(head);
    if tail <= head {
        return escaped(text, |_| false);
    }
    let left_out = text[head..tail].chars().count();
    let [head, tail] = [&text[..head], &text[tail..]].map(|part| escaped(part, |_| false));
    format!("{head} [{left_out} more characters] {tail}")
}

/// The text with terminal controls escaped; line breaks and tabs are kept.
pub(crate) fn lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) && !kept(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a character steers a terminal.
///
/// A terminal takes it for a command, or shows it not at all or in another place.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_the_rest_is_not() {
        assert_eq!(shown("a \"b\" 'c' \\ é 漢"), "a \"b\" 'c' \\ é 漢");
        assert_eq!(shown("\u{1b}[31m\r\n\u{9b}2J\u{7}"), r"\u{1b}[31m\r\n\u{9b}2J\u{7}");
        assert_eq!(shown("a\u{202e}b"), r"a\u{202e}b");
        assert_eq!(lines("a\n\tb\r\u{1b}"), "a\n\tb\\r\\u{1b}");
    }

    #[test]
    fn long_texts_are_cut_in_their_middle() {
        assert_eq!(shown(""), "");
        let exact = "é".repeat(MOST);
        assert_eq!(shown(&exact), exact);
        let long = format!("head{}at line 1", "x".repeat(10_000));
        let cut = shown(&long);
        assert!(cut.starts_with("headxxx") && cut.ends_with("xxxat line 1"), "{cut}");
        assert!(cut.contains("[9813 more characters]") && cut.chars().count() < 240, "{cut}");
        let worst = shown(&"\u{1b}".repeat(1_000));
        assert!(worst.len() < 6 * MOST + 40, "{}", worst.len());
    }
}
