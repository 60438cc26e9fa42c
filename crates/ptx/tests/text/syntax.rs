//! The parse tree and the text printed from it.

use crate::text::samples::kernel;
use ptx::{
    ast::{
        Address, AddressBase, Class, Directive, FunctionKind, Guard, Initialiser, Instruction, Operand, Reg,
        Relocation, Shape, SourceLine, Space, Special, Symbol,
    },
    parse, print,
};

const FEATURES: &str = include_str!("../data/features.ptx");
const COMPILED: &str = include_str!("../data/compiled.ptx");
const WITHOUT_FLAGS: &str = include_str!("../data/compiled_without_flags.ptx");

fn instruction<'m>(module: &'m ptx::ast::Module, opcode: &str) -> &'m Instruction {
    let (_, body) = module.entries().next().unwrap();
    body.instructions.iter().find(|instruction| instruction.opcode.text() == opcode).unwrap()
}

/// Words and punctuation of a text, without comments, debug sections and the attributes after the numbers of `.loc`.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for line in text.split(".section").next().unwrap().lines() {
        let mut code = line.split("//").next().unwrap();
        if code.trim_start().starts_with(".loc") {
            code = code.split(',').next().unwrap();
        }
        let mut word = String::new();
        for c in code.chars() {
            if c.is_whitespace() || ",;{}[]()|:".contains(c) {
                tokens.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                tokens.extend((!c.is_whitespace()).then(|| c.to_string()));
            } else {
                word.push(c);
            }
        }
        tokens.extend((!word.is_empty()).then_some(word));
    }
    tokens
}

/// The directives, variables and functions of a text as tokens, sorted: the printer puts declarations first.
fn items(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for token in tokens(text) {
        let item = items.last_mut().unwrap();
        item.push_str(&token);
        item.push(' ');
        depth += i32::from(token == "{") - i32::from(token == "}");
        let header = item.ends_with(".address_size 64 ");
        if header || depth == 0 && (token == ";" || token == "}") && !item.contains("= {") {
            items.push(String::new());
        }
    }
    items.sort();
    items
}

#[test]
fn printing_keeps_every_token() {
    for text in [FEATURES, COMPILED, WITHOUT_FLAGS] {
        let printed = print(&parse(text).unwrap());
        // Numbers are printed one way, whatever the way they were written.
        let numbers =
            [("0x10;", "16;"), ("WARP_SZ", "32"), ("1.5;", "0d3FF8000000000000;"), ("0xffffffff;", "4294967295;")];
        let normal = numbers.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        let (printed, normal) = (items(&printed), items(&normal));
        assert_eq!(printed.len(), normal.len());
        for (printed, normal) in printed.iter().zip(&normal) {
            assert_eq!(printed, normal);
        }
    }
}

#[test]
fn printing_is_a_fixed_point() {
    for text in [FEATURES, COMPILED, WITHOUT_FLAGS] {
        let first = print(&parse(text).unwrap());
        assert_eq!(print(&parse(&first).unwrap()), first);
    }
}

/// As LLVM lays texts out; by hand.
const LAID_OUT: &str = "\
.version 7.8
.target sm_90, debug
.address_size 64
.file 1 \"a.rs\"

.extern .func (.param .b32 r) helper(
\t.param .b64 a,
\t.param .align 8 .b8 b[16]
)
;

.global .v2 .b32 pair = {1, -2};

.visible .entry kernel()
.reqnctapercluster 2, 1
{
\t.reg .b32 x;
P: .callprototype (.param .b32 _) _(.param .b32 _, .param .b64 _) .noreturn;
\t.loc 1 2 3
\tmov.u32 x, %tid.x;
\t{
\t.reg .b64 %rd<2>;
\tmov.b64 %rd1, {x, x};
\t}
\tret;
}
";

#[test]
fn printing_lays_texts_out_as_llvm_does() {
    assert_eq!(print(&parse(LAID_OUT).unwrap()), LAID_OUT);
}

#[test]
fn images_hold_the_bytes_of_the_variables_type() {
    let text = ".version 8.0 .target sm_80\n.global .b8 bytes[3] = {1, -1, 258};\n.global .v2 .b16 pair = {1, -2};\n\
        .global .f32 f[2] = {1.5, 0f3FC00000};\n.global .f64 d[2] = {1.5, 0f3FC00000};\n.global .b128 wide = 5;\n\
        .global .u8 top = 0xFF00000000000000(generic(f));\n.global .b128 place = f+4;\n.global .b32 one[] = {7};\n";
    let module = parse(text).unwrap();
    let (float, double): ([u8; 4], [u8; 8]) = ([0, 0, 0xc0, 0x3f], [0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    let five: Vec<u8> = [&[5][..], &[0; 15]].concat();
    for (name, bytes) in [
        ("bytes", &[1, 255, 2][..]),
        ("pair", &[1, 0, 254, 255]),
        ("f", &[float, float].concat()),
        ("d", &[double, double].concat()),
        ("wide", &five),
        ("top", &[0]),
        ("place", &[0; 16]),
        ("one", &[7, 0, 0, 0]),
    ] {
        let variable = module.global(name).unwrap();
        assert_eq!((variable.image().bytes, variable.bytes()), (bytes.to_vec(), bytes.len() as u64), "{name}");
    }
    let place = |name| module.global(name).unwrap().image().relocations.remove(0);
    let (top, wide) = (place("top"), place("place"));
    assert_eq!((top.at, top.width, top.shift, top.offset, top.generic), (0, 1, 56, 0, true));
    assert_eq!((wide.at, wide.width, wide.shift, wide.offset, wide.generic), (0, 8, 0, 4, false));
    assert_eq!(module.address_size, 32);
}

#[test]
fn headers_and_globals() {
    let module = parse(FEATURES).unwrap();
    assert_eq!(module.version, (7, 4));
    assert_eq!(&*module.target[0], "sm_80");
    assert_eq!(module.address_size, 64);
    let dynamic = module.global("dyn_smem").unwrap();
    assert_eq!(
        (dynamic.space, dynamic.shape, dynamic.alignment(), dynamic.bytes()),
        (Space::Shared, Shape::Unsized, 16, 0)
    );
    let table = module.global("table").unwrap();
    assert_eq!(table.image().bytes, [1, 2, 253, 252]);
    assert_eq!(table.bytes(), 8);
    let relocation =
        |at, width, shift, offset, generic| Relocation { at, width, shift, symbol: "table".into(), offset, generic };
    let links = module.global("links").unwrap().image();
    assert_eq!(links.bytes, [0; 24]);
    assert_eq!(links.relocations, [relocation(0, 8, 0, 0, true), relocation(8, 8, 0, 4, false)]);
    let bytes = module.global("bytes").unwrap().image();
    assert_eq!(bytes.bytes, [0, 0, 0, 7]);
    let expected = [relocation(0, 1, 0, 0, true), relocation(1, 1, 8, 0, true), relocation(2, 1, 16, 8, true)];
    assert_eq!(bytes.relocations, expected);
    assert_eq!(module.global("half").unwrap().initialiser, [Initialiser::F32(0x3f00_0000)]);
    assert_eq!(module.global("quads").unwrap().bytes(), 32);
}

#[test]
fn parameters_and_directives() {
    let module = parse(FEATURES).unwrap();
    let kernel = module.function("features").unwrap();
    assert_eq!(kernel.kind, FunctionKind::Entry);
    let layout: Vec<_> = kernel.param_layout().iter().map(|place| (place.offset, place.size, place.align)).collect();
    assert_eq!(layout, [(0, 8, 8), (8, 8, 8), (16, 24, 8), (40, 4, 4)]);
    assert_eq!(kernel.params[0].pointer.unwrap().space, Some(Space::Global));
    assert_eq!(kernel.directives, [Directive::MaxThreads([256, 1, 1]), Directive::MinBlocks(2)]);
    assert_eq!(module.function("abort_here").unwrap().directives, [Directive::NoReturn]);
    assert!(module.function("helper").unwrap().body.is_none());
    assert_eq!(module.function("twice").unwrap().returns.len(), 1);
}

#[test]
fn operands() {
    let module = parse(FEATURES).unwrap();
    let (_, body) = module.entries().next().unwrap();
    let name = |reg: Reg| &*body.register(reg).name;
    let load = instruction(&module, "ld.global.L1::no_allocate.v4.b32");
    assert_eq!(load.opcode.modifiers().collect::<Vec<_>>(), ["global", "L1::no_allocate", "v4", "b32"]);
    assert!(matches!(&load.operands[0], Operand::Vector(lanes) if lanes.len() == 4 && lanes[2] == Operand::Sink));
    assert!(
        matches!(load.operands[1], Operand::Address(Address { base: AddressBase::Reg(reg), offset: -16 }) if name(reg) == "%rd1")
    );
    let wide = instruction(&module, "ld.param.b32");
    assert!(matches!(wide.operands[0], Operand::Reg(reg) if body.register(reg).class() == Class::B64));
    assert_eq!(wide.operands[1], Operand::Address(Address { base: AddressBase::Symbol(Symbol::Param(2)), offset: 16 }));
    assert_eq!(instruction(&module, "mov.u32").operands[1], Operand::Special(Special::Tid(ptx::ast::Axis::X)));
    let compare = instruction(&module, "setp.lt.u32");
    assert!(matches!(compare.operands[0], Operand::Pair(Some(p), Some(q)) if name(p) == "%p1" && name(q) == "%p2"));
    assert!(matches!(instruction(&module, "setp.eq.and.s32").operands[3], Operand::NotReg(p) if name(p) == "%p1"));
    assert_eq!(instruction(&module, "fma.rn.f32").operands[2], Operand::F32(0xbf80_0000));
    let unknown = instruction(&module, "frobnicate.x.y::z");
    assert_eq!(unknown.operands[1..], [Operand::Int(32), Operand::F64(1.5_f64.to_bits())]);
    let store = instruction(&module, "st.shared.b32");
    let base = AddressBase::Symbol(Symbol::Module("dyn_smem".into()));
    assert_eq!(store.operands[0], Operand::Address(Address { base, offset: 64 }));
    let tensor = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    assert!(matches!(&instruction(&module, tensor).operands[1], Operand::TensorAddress(_, at) if at.len() == 2));
}

#[test]
fn numbers_have_the_radix_and_sign_they_are_written_with() {
    let value = |number: &str| instruction(&kernel(&format!("mov.b64 %rd1, {number};")), "mov.b64").operands[1].clone();
    for (number, integer) in
        [("0x1e", 30), ("0X1E", 30), ("0b101", 5), ("0B11", 3), ("017", 15), ("10U", 10), ("- -7", 7)]
    {
        assert_eq!(value(number), Operand::Int(integer), "{number}");
    }
    for (number, float) in
        [("1.5e-3", 1.5e-3), ("1e+5", 1e5), ("1E5", 1e5), ("-1.5", -1.5), ("0D3ff8000000000000", 1.5_f64)]
    {
        assert_eq!(value(number), Operand::F64(float.to_bits()), "{number}");
    }
    assert_eq!((value("18446744073709551615"), value("0F3f800000")), (Operand::Int(-1), Operand::F32(0x3f80_0000)));
}

#[test]
fn names_of_inner_scopes_hide_outer_ones() {
    let module = kernel("L1:\n{\n.reg .b32 %zx;\n.reg .b32 %z<4>;\nbra L1;\nL1:\n}");
    let Operand::Label(label) = instruction(&module, "bra").operands[0] else { panic!("not a label") };
    assert_eq!(module.entries().next().unwrap().1.target(label), 1);
}

#[test]
fn control_flow_names_resolve() {
    let module = parse(FEATURES).unwrap();
    let (_, body) = module.entries().next().unwrap();
    let branch = instruction(&module, "bra");
    let Operand::Label(label) = branch.operands[0] else { panic!("not a label: {branch:?}") };
    assert_eq!(body.instructions[body.target(label)].opcode.text(), "exit");
    assert!(matches!(branch.guard, Some(Guard { negated: false, .. })));
    let indexed = instruction(&module, "brx.idx");
    let Operand::Targets(list) = indexed.operands[1] else { panic!("not a list: {indexed:?}") };
    assert_eq!(body.targets[list.0 as usize].targets.len(), 3);
    let call = instruction(&module, "call");
    assert!(matches!(call.operands[3], Operand::Prototype(_)));
    let direct = instruction(&module, "call.uni");
    assert_eq!(direct.operands[1], Operand::Symbol { symbol: Symbol::Module("twice".into()), offset: 0 });
    assert_eq!(body.labels.last().unwrap().at, body.instructions.len());
}

#[test]
fn inner_scopes_hide_outer_registers() {
    let module = parse(FEATURES).unwrap();
    let (_, body) = module.entries().next().unwrap();
    let moved = |line: &str| {
        let line = FEATURES.lines().position(|text| text.contains(line)).unwrap() as u32 + 1;
        let found = body.instructions.iter().find(|instruction| instruction.line == line).unwrap();
        found.operands[0].registers().next().unwrap()
    };
    let (outer, inner) = (moved("mov.u32 %r1, %tid.x"), moved("mov.b32 %r1, -7"));
    assert_ne!(outer, inner);
    assert_eq!(body.register(outer).name, body.register(inner).name);
}

#[test]
fn lines_and_sources_are_kept() {
    let module = parse(FEATURES).unwrap();
    let moved = instruction(&module, "mov.u32");
    assert_eq!(FEATURES.lines().nth(moved.line as usize - 1).unwrap().trim(), "mov.u32 %r1, %tid.x;");
    assert_eq!(moved.source, Some(SourceLine { file: 1, line: 11, column: 9 }));
}

/// The value of an expression that is an address, if the expression is valid.
fn value_of(expression: &str) -> Option<i64> {
    let body = format!(".reg .b32 %r<2>; ld.global.u32 %r1, [0 + {expression}]; ret;");
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{ {body} }}\n");
    match &instruction(&parse(&text).ok()?, "ld.global.u32").operands[1] {
        Operand::Address(Address { base: AddressBase::Absolute, offset }) => Some(*offset),
        other => panic!("{other:?}"),
    }
}

#[test]
fn expressions_have_the_operators_and_precedences_of_c() {
    let expressions: [(&str, i64); 16] = [
        ("(6 | 3) * 2", 14),
        ("0x1e+4", 34),
        ("6 | 3", 7),
        ("6 ^ 3", 5),
        ("6 & 3", 2),
        ("3 << 4", 48),
        ("48 >> 4", 3),
        ("7 - 2 - 1", 4),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("17 / 5", 3),
        ("-3 + 5", 2),
        ("~5 & 15", 10),
        ("1 | 2 ^ 2 & 6", 1),
        ("1 << 2 + 1", 8),
        ("- - 4", 4),
    ];
    for (expression, value) in expressions {
        assert_eq!(value_of(expression), Some(value), "{expression}");
    }
    assert!(["1 / 0", "1 << 64", "1 << -1", "(1", "1 +"].iter().all(|expression| value_of(expression).is_none()));
}

#[test]
fn expressions_have_at_most_64_parentheses_and_signs() {
    let nested = |depth: usize| value_of(&format!("{}7{}", "(".repeat(depth), ")".repeat(depth)));
    assert_eq!((nested(63), nested(64)), (Some(7), None));
}
