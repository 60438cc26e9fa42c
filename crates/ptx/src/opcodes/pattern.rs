//! Patterns with `{a,b}` alternatives, not nested.

/// The literal before the first alternatives, the alternatives, and the rest of the pattern.
fn split(pattern: &str) -> Option<(&str, &str, &str)> {
    let (literal, rest) = pattern.split_once('{')?;
    let (alternatives, rest) = rest.split_once('}')?;
    Some((literal, alternatives, rest))
}

/// Whether `pattern` stands for `text` among others.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((literal, alternatives, rest)) = split(pattern) else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(literal) else {
        return false;
    };
    alternatives.split(',').any(|choice| text.strip_prefix(choice).is_some_and(|text| matches(rest, text)))
}

/// Every text that `pattern` stands for.
pub(super) fn expand(pattern: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut left = pattern;
    while let Some((literal, alternatives, rest)) = split(left) {
        texts = texts
            .iter()
            .flat_map(|text| alternatives.split(',').map(move |choice| format!("{text}{literal}{choice}")))
            .collect();
        left = rest;
    }
    for text in &mut texts {
        text.push_str(left);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::{expand, matches};

    #[test]
    fn expansion_and_matching_agree() {
        let texts = expand("a{.x,.y,}.{b,c}");
        assert_eq!(texts, ["a.x.b", "a.x.c", "a.y.b", "a.y.c", "a.b", "a.c"]);
        assert!(texts.iter().all(|text| matches("a{.x,.y,}.{b,c}", text)));
        for text in ["a", "a.x", "a.x.y.b", "a.b.c", "b.b", "a.x.bb", ""] {
            assert!(!matches("a{.x,.y,}.{b,c}", text), "{text}");
        }
    }

    #[test]
    fn a_prefix_among_the_choices_does_not_hide_the_longer_one() {
        assert!(matches("ld{.a,.a.b,}.c", "ld.a.b.c"));
    }
}
