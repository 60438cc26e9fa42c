//! Tokens of PTX text.

use crate::{ParseError, ParseErrorKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or opcode, inner dots and `::` included.
    ///
    /// Examples: `ld.shared::cluster.b32`, `%tid.x`, `$L__BB0_1`.
    Word,
    /// A dot and one part: `.visible`.
    Directive,
    /// A number, sign excluded.
    Number,
    /// A quoted string, quotes included.
    Text,
    /// One byte of punctuation.
    Punct(u8),
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'text> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'text str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Token<'_> {
    /// An error at this token.
    pub(crate) fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError { line: self.line, column: self.column, kind }
    }

    /// The error that something else must stand here.
    pub(crate) fn expected(&self, expected: &'static str) -> ParseError {
        let got =
            if self.kind == TokenKind::End { "end of text".to_owned() } else { format!("`{}`", excerpt(self.text)) };
        self.error(ParseErrorKind::Expected { expected, got })
    }

    pub(crate) fn is(&self, punct: u8) -> bool {
        self.kind == TokenKind::Punct(punct)
    }
}

/// At most 40 characters of `text`, so that an error about a huge token stays small.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Splits a text into tokens, on demand.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'text> {
    text: &'text str,
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'text> Lexer<'text> {
    /// Refuses text whose positions do not fit in 32 bits.
    pub(crate) fn new(text: &'text str) -> Result<Self, ParseError> {
        if u32::try_from(text.len()).is_ok_and(|len| len < u32::MAX) {
            Ok(Self { text, at: 0, line: 1, line_start: 0 })
        } else {
            Err(ParseError { line: 1, column: 1, kind: ParseErrorKind::Length(text.len()) })
        }
    }

    /// The next token; [`TokenKind::End`] forever once the text is used up.
    pub(crate) fn next(&mut self) -> Result<Token<'text>, ParseError> {
        self.skip_blank()?;
        let (start, line, column) = (self.at, self.line, self.column());
        let bytes = self.text.as_bytes();
        let kind = match bytes.get(start) {
            None => TokenKind::End,
            Some(byte) if is_name_start(*byte) => {
                self.word();
                if matches!(&bytes[start..self.at], b"%" | b"$") {
                    return Err(self.error_at(start, ParseErrorKind::Byte(*byte)));
                }
                TokenKind::Word
            }
            Some(b'0'..=b'9') => {
                self.number();
                TokenKind::Number
            }
            Some(b'.') if bytes.get(start + 1).is_some_and(|byte| is_name(*byte)) => {
                self.at += 1;
                self.name();
                TokenKind::Directive
            }
            Some(b'"') => {
                self.string()?;
                TokenKind::Text
            }
            Some(
                byte @ (b';' | b',' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<' | b'>' | b':' | b'+' | b'-' | b'!'
                | b'|' | b'@' | b'=' | b'*' | b'/' | b'&' | b'^' | b'~'),
            ) => {
                self.at += 1;
                TokenKind::Punct(*byte)
            }
            Some(byte) => return Err(self.error_at(start, ParseErrorKind::Byte(*byte))),
        };
        Ok(Token { kind, text: &self.text[start..self.at], line, column })
    }

    fn error_at(&self, at: usize, kind: ParseErrorKind) -> ParseError {
        ParseError { line: self.line, column: (at - self.line_start) as u32 + 1, kind }
    }

    fn column(&self) -> u32 {
        (self.at - self.line_start) as u32 + 1
    }

    /// Passes white space and comments.
    fn skip_blank(&mut self) -> Result<(), ParseError> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'\n') => {
                    self.at += 1;
                    self.line += 1;
                    self.line_start = self.at;
                }
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'/') => {
                    let rest = &bytes[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'*') => self.block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        let Some(len) = self.text[start + 2..].find("*/") else {
            return Err(self.error_at(start, ParseErrorKind::Unterminated("comment")));
        };
        let end = start + 2 + len + 2;
        for (index, byte) in self.text.as_bytes()[start..end].iter().enumerate() {
            if *byte == b'\n' {
                self.line += 1;
                self.line_start = start + index + 1;
            }
        }
        self.at = end;
        Ok(())
    }

    /// One part between dots, `::` and what follows included: `shared::cluster`.
    fn name(&mut self) {
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let len = rest.iter().position(|byte| !is_name(*byte)).unwrap_or(rest.len());
            self.at += len;
            match &rest[len..] {
                [b':', b':', byte, ..] if is_name(*byte) => self.at += 2,
                _ => return,
            }
        }
    }

    /// A first byte, and parts after dots.
    fn word(&mut self) {
        self.at += 1;
        self.name();
        while let [b'.', byte, ..] = &self.text.as_bytes()[self.at..]
            && is_name(*byte)
        {
            self.at += 1;
            self.name();
        }
    }

    /// Lexes digits, letters and, in decimal numbers, a fraction and a signed exponent.
    ///
    /// The parser judges them.
    fn number(&mut self) {
        let bytes = self.text.as_bytes();
        let radix = bytes[self.at] == b'0' && bytes.get(self.at + 1).is_some_and(u8::is_ascii_alphabetic);
        while let Some(byte) = bytes.get(self.at) {
            let previous = bytes[self.at.saturating_sub(1)];
            let exponent = !radix && matches!(byte, b'+' | b'-') && matches!(previous, b'e' | b'E');
            let fraction = !radix && *byte == b'.';
            if !(byte.is_ascii_alphanumeric() || exponent || fraction) {
                break;
            }
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<(), ParseError> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        match rest.iter().position(|byte| matches!(byte, b'"' | b'\n')) {
            Some(len) if rest[len] == b'"' => {
                self.at += len + 2;
                Ok(())
            }
            _ => Err(self.error_at(self.at, ParseErrorKind::Unterminated("string"))),
        }
    }
}

const fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%')
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}
