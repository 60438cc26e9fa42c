//! Hostile text: a typed error with a place in the text, or a module that everything else accepts.

use std::time::Instant;

use crate::text::samples::{COMPILED, WITHOUT_FLAGS, text};
use ptx::{ParseErrorKind, Table, lint, mutate::mutations, parse, print, rewrite::prepare};

const FEATURES: &str = include_str!("../data/features.ptx");

/// Parses `text`; checks the place of an error, and all passes on a module.
fn survives(text: &str) {
    match parse(text) {
        Ok(mut module) => {
            let printed = print(&module);
            let again = parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(print(&again), printed);
            let _ = lint::check(&module, &Table::default());
            for mutation in mutations(&module) {
                let _ = print(&mutation.apply(&module));
            }
            prepare(&mut module, &Table::default()).unwrap();
            parse(&print(&module)).unwrap();
        }
        Err(error) => {
            let line = text.split('\n').nth(error.line as usize - 1).unwrap_or_else(|| panic!("{error}"));
            assert!((1..=line.len() + 1).contains(&(error.column as usize)), "{error}");
            assert!(error.to_string().len() < 300, "{error}");
        }
    }
}

fn fails(text: &str) -> ParseErrorKind {
    parse(text).unwrap_err().kind
}

#[test]
fn truncated_anywhere() {
    for (text, step) in [(FEATURES, 1), (COMPILED, 5)] {
        for end in (0..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end)) {
            survives(&text[..end]);
        }
    }
}

#[test]
fn bytes_changed_at_random() {
    let mut rng = fastrand::Rng::with_seed(1);
    let alphabet = b" \n\t;,{}[]()<>:+-!|@=._%$\"/*0123456789abcdefxXrpUE";
    for round in 0..3000 {
        let mut bytes = [FEATURES, COMPILED, WITHOUT_FLAGS][round % 3].as_bytes().to_vec();
        for _ in 0..=rng.u32(..4) {
            let at = rng.usize(..bytes.len());
            match rng.u32(..4) {
                0 => bytes[at] ^= 1 << rng.u32(..7),
                1 => bytes[at] = alphabet[rng.usize(..alphabet.len())],
                2 => drop(bytes.remove(at)),
                _ => {
                    // A run of lines moves elsewhere.
                    let end = (at + rng.usize(..200)).min(bytes.len());
                    let run: Vec<u8> = bytes.drain(at..end).collect();
                    let to = rng.usize(..bytes.len());
                    bytes.splice(to..to, run);
                }
            }
        }
        survives(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn errors_name_what_is_wrong_and_where() {
    let at = |code: &str| {
        let error = parse(&text("", code)).unwrap_err();
        // The code starts at line 11.
        (error.line - 10, error.column, error.kind.to_string())
    };
    let expect = |code: &str, line: u32, column: u32, message: &str| {
        assert_eq!(at(code), (line, column, message.to_owned()), "{code}");
    };
    expect("add.s32 %r1, %r2, %x1;", 1, 19, "undeclared register `%x1`");
    expect("add.s32 %r1, %r2, %r20;", 1, 19, "undeclared register `%r20`");
    expect("nop\n;bra nowhere;", 2, 6, "undefined name `nowhere`");
    expect("L:\nL:", 2, 1, "`L` is declared twice");
    expect("mov.b32 %r1, 0f12;", 1, 14, "malformed number `0f12`");
    expect("mov.b32 %r1, 12ab;", 1, 14, "malformed number `12ab`");
    expect("mov.b32 %r1, 18446744073709551616;", 1, 14, "malformed number `18446744073709551616`");
    expect("mov.b32 %r1 %r2;", 1, 13, "expected `,` or `;`, got `%r2`");
    expect("mov.b32 {{%r1}}, %r2;", 1, 10, "expected an operand, got `{`");
    expect("mov.b32 %r1, \u{1}", 1, 14, "unexpected byte 0x01");
    expect("/* open", 1, 1, "unterminated comment");
    expect(".pragma \"open\n\";", 1, 9, "unterminated string");
    expect("{ mov.b32 %r1, 0;\n.reg .b64 %r1; }", 2, 11, "`%r1` is used before its declaration");
    expect("mov.u64 %rd1, tile;\n.local .b32 tile;", 2, 13, "`tile` is used before its declaration");
    expect(".local .align 3 .b32 x;", 1, 15, "alignment out of range: `3`");
    expect("add.s32 %r1, %r2, %r01;", 1, 19, "undeclared register `%r01`");
    let long = format!("mov.b32 %r1, %{};", "y".repeat(50));
    expect(&long, 1, 14, &format!("undeclared register `%{}`", "y".repeat(39)));
    expect(".reg .b32 %q<2>;\n.reg .b32 %q<3>;", 2, 11, "`%q` is declared twice");
    expect(".reg .b32 x;\nmov.b32 x, 0;\n.reg .b32 x;", 3, 11, "`x` is declared twice");
    expect(".reg .b32 a.b;", 1, 11, "expected a register name, got `a.b`");
    expect(".reg .b32 _;", 1, 11, "expected a register name, got `_`");
    expect("_: nop;", 1, 1, "expected an opcode, got `_`");
    expect("$f %r1;", 1, 1, "expected an opcode, got `$f`");
    expect("a.b: nop;", 1, 4, "expected an operand, got `:`");
    expect("mov.b32 %r1, a.b;", 1, 14, "expected an operand, got `a.b`");
    expect("ld.global.u32 %r1, [%rd1, %r2];", 1, 27, "expected `{` before the coordinates, got `%r2`");
    expect(".loc 1 2 3, function_name $L+4, inlined_at 1 2 4", 1, 33, "undefined name `[1, 2, 4]`");
    expect("/**//*/ a\n*/ x %x1;", 2, 6, "undeclared register `%x1`");
    expect("mov.b32 %r1, -0f3F800000;", 1, 15, "malformed number `0f3F800000`");
    expect("mov.b64 %rd1, -0d3FF0000000000000;", 1, 16, "malformed number `0d3FF0000000000000`");
    for number in ["0x", "0b2", "08", "1e999", "0f3F80000", "0d3FF000000000000", "1.5.5"] {
        expect(&format!("mov.b32 %r1, {number};"), 1, 14, &format!("malformed number `{number}`"));
    }
}

#[test]
fn errors_at_module_scope_name_what_is_wrong_and_where() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for (text, line, column, message) in [
        (".file 1 \"a\", 5, 6\n.file 1 \"b\"", 2, 1, "`.file` is declared twice"),
        (".func f() { ret; }\n.func f() { ret; }", 2, 1, "`f` is declared twice"),
        (".global .b32 x;\n.global .b32 x;", 2, 14, "`x` is declared twice"),
        (".global .b32 x = 0(x);", 1, 18, "address mask out of range: `0`"),
        (".global .b32 x[][];", 1, 18, "expected a number, got `]`"),
        (".global .b32 x[][2];", 1, 14, "array dimension out of range: `x`"),
        (".global .b32 x[2][2] = {1};", 1, 14, "dimensions of initial values out of range: `x`"),
        (".global .v2 .b32 x[2] = {1, 2};", 1, 18, "dimensions of initial values out of range: `x`"),
        (".global .v2 .b32 x = {1};", 1, 18, "number of initial values out of range: `x`"),
        (".entry k(.param .align 8192 .b8 x[8]) { ret; }", 1, 24, "parameter alignment out of range: `8192`"),
        (".entry k(.param .b8 x[1048577]) { ret; }", 1, 23, "parameter length out of range: `1048577`"),
    ] {
        let error = parse(&format!("{head}{text}")).unwrap_err();
        assert_eq!(
            (error.line - 3, error.column, error.kind.to_string()),
            (line, column, message.to_owned()),
            "{text}"
        );
    }
    parse(&format!("{head}.entry k(.param .align 4096 .b8 x[1048576]) {{ ret; }}")).unwrap();
    let error = parse(&head.replace("64", "48")).unwrap_err();
    assert_eq!(error.to_string(), "line 3, column 15: address size out of range: `48`");
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |depth: usize| text("", &("{".repeat(depth) + &"}".repeat(depth)));
    parse(&nested(63)).unwrap();
    assert_eq!(fails(&nested(64)), ParseErrorKind::Nesting(64));
    assert_eq!(fails(&nested(1_000_000)), ParseErrorKind::Nesting(64));
}

#[test]
fn huge_counts_cost_nothing() {
    let code = ".reg .b32 %huge<4294967295>;\nmov.b32 %huge4294967294, 1;\n.local .b8 big[4398046511104];";
    let module = parse(&text("", code)).unwrap();
    let (_, body) = module.entries().next().unwrap();
    assert!(body.registers.len() < 10);
    assert_eq!(body.variables[0].bytes(), 1 << 42);
    for (declaration, what) in [
        (".local .b8 big[4398046511105];", "array length"),
        (".local .b32 big[4398046511104];", "variable size"),
        (".local .b8 big[4294967296][4294967296];", "variable size"),
        (".reg .b32 %huge<4294967296>;", "number of registers"),
        (".local .b8 few[2] = {1, 2, 3};", "number of initial values"),
    ] {
        let kind = fails(&text("", declaration));
        assert!(matches!(kind, ParseErrorKind::Range { what: found, .. } if found == what), "{declaration}: {kind}");
    }
}

#[test]
fn hostile_register_ranges_do_not_slow_the_parser() {
    let mut code = String::new();
    // Enough that a parser that looks through all ranges for each register takes minutes.
    for index in 0..100_000 {
        code.push_str(&format!(".reg .b32 %q{index}_<2>;\n"));
    }
    for index in 0..100_000 {
        code.push_str(&format!("mov.b32 %q{index}_1, 0;\n"));
    }
    let start = Instant::now();
    parse(&text("", &code)).unwrap();
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn what_is_no_ptx() {
    for text in ["", "\u{feff}", "hello", ".version", ".version 7", ".version 7.0 .target", "\0", "//", "/*", "\""] {
        survives(text);
        assert!(parse(text).is_err(), "{text:?}");
    }
}
