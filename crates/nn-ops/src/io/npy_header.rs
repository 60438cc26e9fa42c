//! The header of an `.npy` file, parsed without trusting its bytes.

use super::npy_error::NpyError;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Most dimensions of a shape.
///
/// More than any tensor here has, and few enough to keep parsing linear.
const MAX_DIMS: usize = 32;

/// The contents of an `.npy` header.
#[derive(Debug)]
pub(super) struct Header {
    /// The dtype description, such as `<f4`.
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
    /// Where the data starts in the file.
    pub(super) data_start: usize,
}

impl Header {
    /// Parses the magic, the version, the length and the dictionary literal.
    ///
    /// Written by hand because the format is one fixed dictionary, while general readers evaluate a
    /// whole literal grammar recursively and multiply shapes unchecked, which hostile files
    /// exploit.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, NpyError> {
        let truncated = |needed: usize| NpyError::Truncated { expected: needed, got: bytes.len() };
        let start = bytes.get(..8).ok_or(truncated(8))?;
        if &start[..6] != MAGIC {
            return Err(NpyError::Magic);
        }
        let (text_start, text_len) = match start[6] {
            1 => {
                let field = bytes.get(8..10).ok_or(truncated(10))?;
                (10usize, usize::from(u16::from_le_bytes([field[0], field[1]])))
            }
            2 | 3 => {
                let field = bytes.get(8..12).ok_or(truncated(12))?;
                let len = u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
                (12, usize::try_from(len).map_err(|_| truncated(usize::MAX))?)
            }
            major => return Err(NpyError::Version { major, minor: start[7] }),
        };
        let data_start = text_start.checked_add(text_len).ok_or(truncated(usize::MAX))?;
        let text = bytes.get(text_start..data_start).ok_or(truncated(data_start))?;
        let mut cursor = HeaderCursor { text, at: 0, base: text_start };
        let (mut descr, mut order, mut shape) = (None, None, None);
        cursor.expect(b'{')?;
        while !cursor.accept(b'}') {
            let key_at = cursor.offset();
            let key = cursor.string()?;
            cursor.expect(b':')?;
            let fresh = match key.as_str() {
                "descr" => descr.replace(cursor.string()?).is_none(),
                "fortran_order" => order.replace(cursor.boolean()?).is_none(),
                "shape" => shape.replace(cursor.tuple()?).is_none(),
                _ => false,
            };
            if !fresh {
                return Err(NpyError::Header {
                    offset: key_at,
                    expected: "the keys descr, fortran_order, shape, once each",
                });
            }
            if !cursor.accept(b',') {
                cursor.expect(b'}')?;
                break;
            }
        }
        cursor.end()?;
        let missing = NpyError::Header { offset: text_start, expected: "the keys descr, fortran_order and shape" };
        match (descr, order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Self { descr, fortran_order, shape, data_start }),
            _ => Err(missing),
        }
    }
}

struct HeaderCursor<'a> {
    text: &'a [u8],
    at: usize,
    base: usize,
}

impl HeaderCursor<'_> {
    fn offset(&self) -> usize {
        self.base + self.at
    }

    fn error(&self, expected: &'static str) -> NpyError {
        NpyError::Header { offset: self.offset(), expected }
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), NpyError> {
        let expected = match byte {
            b'{' => "`{`",
            b'}' => "`}`",
            b':' => "`:`",
            b'(' => "`(`",
            _ => "`)`",
        };
        if self.accept(byte) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn string(&mut self) -> Result<String, NpyError> {
        self.skip_space();
        let quote = match self.text.get(self.at) {
            Some(&quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.error("a quoted string")),
        };
        let rest = &self.text[self.at + 1..];
        let len = rest.iter().position(|&byte| byte == quote).ok_or(self.error("a closing quote"))?;
        let plain = rest[..len].iter().all(|byte| byte.is_ascii_graphic() && *byte != b'\\');
        if !plain {
            return Err(self.error("a string of plain ascii"));
        }
        self.at += len + 2;
        Ok(rest[..len].iter().copied().map(char::from).collect())
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let (value, len) = match rest {
            _ if rest.starts_with(b"True") => (true, 4),
            _ if rest.starts_with(b"False") => (false, 5),
            _ => return Err(self.error("`True` or `False`")),
        };
        self.at += len;
        Ok(value)
    }

    fn tuple(&mut self) -> Result<Vec<usize>, NpyError> {
        self.expect(b'(')?;
        let mut dims = Vec::new();
        while !self.accept(b')') {
            if dims.len() == MAX_DIMS {
                return Err(self.error("at most 32 dimensions"));
            }
            dims.push(self.integer()?);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(dims)
    }

    fn integer(&mut self) -> Result<usize, NpyError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let fold = |value: usize, byte: &u8| value.checked_mul(10)?.checked_add(usize::from(byte - b'0'));
        let value = rest[..len].iter().try_fold(0, fold).filter(|_| len > 0);
        let value = value.ok_or(self.error("a dimension that fits the address space"))?;
        self.at += len;
        // Python 2 wrote long integers so.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        Ok(value)
    }

    fn end(&mut self) -> Result<(), NpyError> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.error("nothing but space after the dictionary")) }
    }
}
