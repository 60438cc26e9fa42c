//! The types of this crate against NVIDIA's assembler: thousands of lines of PTX with its verdicts.

use crate::text::corpus::{Corpus, Group, Line, Verdict};
use ptx::{
    ast::Module,
    opcodes::{FORMS, canonical, form},
    parse,
    typing::check,
};

const CORPUS: &str = include_str!("../data/typing.txt");

/// Whether the table has every opcode of a module; the executor and a lint refuse others.
fn is_in_table(module: &Module) -> bool {
    let mut bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    bodies.all(|body| body.instructions.iter().all(|instruction| form(instruction.opcode.text()).is_some()))
}

/// Why this crate refuses a line.
fn refusal(corpus: &Corpus<'_>, group: &Group<'_>, line: Line<'_>) -> Option<String> {
    let (text, _) = corpus.module(group, &[line]);
    let module = match parse(&text) {
        Ok(module) => module,
        Err(error) => return Some(error.to_string()),
    };
    let mistake = check(&module).first().map(ToString::to_string);
    mistake.or_else(|| (!is_in_table(&module)).then(|| "an opcode outside the table".to_owned()))
}

#[test]
fn every_verdict_is_the_assemblers() {
    let corpus = Corpus::parse(CORPUS).unwrap();
    let mut differing = Vec::new();
    let mut counts = [0, 0];
    for group in &corpus.groups {
        for line in &group.lines {
            let refusal = refusal(&corpus, group, *line);
            let accepted = line.verdict == Verdict::Ok;
            counts[usize::from(accepted)] += 1;
            if refusal.is_none() != accepted {
                let refusal = refusal.unwrap_or_else(|| "accepted".to_owned());
                differing.push(format!("typing.txt:{}: {:?} `{}`: {refusal}", line.number, line.verdict, line.ptx));
            }
        }
    }
    assert!(differing.is_empty(), "{} lines differ:\n{}", differing.len(), differing.join("\n"));
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

#[test]
fn every_family_of_opcodes_has_lines_of_both_kinds() {
    let corpus = Corpus::parse(CORPUS).unwrap();
    let lines = || corpus.groups.iter().flat_map(|group| &group.lines);
    for form in FORMS {
        let of_form = |line: &&Line<'_>| {
            line.ptx.split(['{', ';', ' ']).any(|word| canonical(word).is_some_and(|opcode| form.admits(opcode)))
        };
        let good = lines().filter(of_form).any(|line| line.verdict == Verdict::Ok);
        let bad = lines().filter(of_form).any(|line| line.verdict != Verdict::Ok);
        assert!(good, "no line of `{}` assembles", form.pattern);
        assert!(bad, "no line of `{}` is refused", form.pattern);
    }
}

#[test]
fn mistakes_are_reported_in_the_order_of_the_text() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.shared .b32 tile = 1;\n.entry k(.param .u64 p)\n{\n\
        .reg .f32 %f<3>;\n.reg .b32 %r<3>;\nadd.u32 %r0, %f1, 1;\nld.global.u32 %r0, [tile];\nbar.cta.sync 0;\n\
        @%r1 bra END;\nmov.u32 %r0, %tid.x, 4;\nEND:\nret;\n}\n";
    let mistakes: Vec<String> = check(&parse(text).unwrap()).iter().map(ToString::to_string).collect();
    assert_eq!(
        mistakes,
        [
            "line 4: `tile`: only .global and .const variables have initial values",
            "line 9: operand 2: expected an integer register of 32 bits or such a number, got `%f1` of type .f32",
            "line 10: operand 2: expected a place in .global memory, by name or 64-bit address, got `[tile]`",
            "line 11: `bar.cta` needs PTX 7.8, the module has 7.0",
            "line 12: expected a predicate as guard, got `%r1` of type .b32",
            "line 13: expected 2 operands, got 3",
        ]
    );
}

#[test]
fn mistakes_of_calls_and_vectors_name_the_operand_and_what_may_stand_there() {
    let frame = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .func (.param .b32 r) got(.param .b32 a, .param .align 8 .b8 b[16]) { ret; }\n.entry k() {\n\
        .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %d<3>; .param .b32 x; .param .align 8 .b8 y[16];\n";
    for (code, mistake) in [
        ("call (x), got, (%r1, y);", None),
        ("call;", Some("expected 1 to 4 operands, got 0")),
        ("P: .callprototype _; call %d1, P;", None),
        ("P: .callprototype _; call %d1, P, P;", Some("expected 2 operands, got 3")),
        ("call (x), got, (%r1);", Some("operand 3: expected 2 arguments, got 1")),
        ("call got, (%r1, y);", Some("operand 1: expected 1 results, got 0")),
        (
            "call (%d1), got, (%r1, y);",
            Some("operand 1: expected results that fit, `r` as .b32, got `%d1` of type .b64"),
        ),
        ("call (x), got, (%r1, x);", Some("operand 3: expected arguments that fit, `b` as .b8[16], got `x`")),
        (
            "ld.global.v2.b32 {%r1, %p1}, [%d1];",
            Some("operand 1: expected 2 times a register of 32 bits or wider in braces, got `{%r1, %p1}`"),
        ),
        (
            "ld.global.b32 %p1, [%d1];",
            Some("operand 1: expected a register of 32 bits or wider, got `%p1` of type .pred"),
        ),
    ] {
        let mistakes = check(&parse(&format!("{frame}{code}\nret;\n}}\n")).unwrap());
        let reasons: Vec<String> = mistakes.iter().map(|mistake| mistake.reason.to_string()).collect();
        assert_eq!(reasons, Vec::from_iter(mistake), "{code}");
    }
}

#[test]
fn parameters_take_the_bytes_that_the_isa_allows() {
    for (version, bytes, is_accepted) in
        [("7.8", 4352, true), ("7.8", 4353, false), ("8.1", 4353, true), ("8.1", 32_764, true), ("8.1", 32_765, false)]
    {
        let text = format!(
            ".version {version}\n.target sm_80\n.address_size 64\n.entry k(.param .b8 a[{bytes}]) {{ ret; }}\n"
        );
        assert_eq!(check(&parse(&text).unwrap()).is_empty(), is_accepted, "{version} {bytes}");
    }
}
