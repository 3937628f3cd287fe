//! Archives as people send them: read as a stream and never unpacked; what is hostile or damaged is refused by name, the rest is used.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::layouts::Files;

use super::plugin::{Run, command, nominate};

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"1","creationTimestamp":"2026-11-30T08:00:00Z"},"spec":{"schedulingGates":[{"name":"example.com/g"}]},"status":{"phase":"Pending"}}"#;

fn one_pod() -> Files {
    Files::from([("pods/a.json".to_owned(), POD.as_bytes().to_vec())])
}

/// Packs files as a tar.
pub(crate) fn tar(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        append(&mut builder, name, content);
    }
    builder.into_inner().expect("memory takes it")
}

fn append(builder: &mut tar::Builder<Vec<u8>>, name: &str, content: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o600);
    builder
        .append_data(&mut header, name, content)
        .expect("memory takes it");
}

/// Appends an entry with this very name and kind, as no well-meaning tool would.
fn hostile(builder: &mut tar::Builder<Vec<u8>>, name: &[u8], kind: tar::EntryType, content: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    if let Some(gnu) = header.as_gnu_mut() {
        gnu.set_real_size(0);
    }
    header.set_size(content.len() as u64);
    header.set_mode(0o600);
    header.set_cksum();
    builder.append(&header, content).expect("memory takes it");
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options are fine");
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes it")
}

/// Packs files as a zip.
pub(crate) fn zip(files: &Files) -> Vec<u8> {
    let entries: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    zip_of(&entries)
}

fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    for (name, content) in entries {
        let (mut entry, config) = archive
            .new_file(rawzip::path::EntryPath::verbatim(name.as_bytes()))
            .compression_method(rawzip::CompressionMethod::DEFLATE)
            .start()
            .expect("memory takes it");
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(encoder);
        writer.write_all(content).expect("memory takes it");
        let (encoder, descriptor) = writer.finish().expect("memory takes it");
        encoder.finish().expect("memory takes it");
        entry.finish(descriptor).expect("memory takes it");
    }
    archive.finish().expect("memory takes it")
}

fn from(folder: &Path, bytes: &[u8]) -> Run {
    let path = folder.join("archive");
    fs::write(&path, bytes).expect("the folder takes a file");
    let path = path.display().to_string();
    nominate(&["explain", "a", "-n", "shop", "--from", &path, "-o", "json"])
}

/// The answer that an archive gives, with its coverage as lines of state, subject and detail.
#[track_caller]
fn answer(bytes: &[u8]) -> (Value, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let run = from(folder.path(), bytes);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    let answer: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr));
    let lines = answer["coverage"].as_array().expect("a list").iter();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or("").to_owned();
    let lines = lines
        .map(|line| {
            format!(
                "{} {}: {}",
                text(line, "state"),
                text(line, "subject"),
                text(line, "detail")
            )
        })
        .collect();
    (answer, lines)
}

#[track_caller]
fn says(lines: &[String], state: &str, words: &str) {
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with(state) && line.contains(words)),
        "{state} {words:?} is not in {lines:#?}"
    );
}

/// Fails as bad data does, in one line.
#[track_caller]
fn refused(bytes: &[u8], words: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let run = from(folder.path(), bytes);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(words), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

#[test]
fn every_format_is_told_by_its_bytes() {
    let files = one_pod();
    let plain = tar(&files);
    for bytes in [
        plain.clone(),
        gzip(&plain),
        xz(&plain),
        zstandard(&plain),
        zip(&files),
    ] {
        let (answer, lines) = answer(&bytes);
        assert_eq!(answer["verdict"]["kind"], "Gated");
        assert_eq!(answer["sources"][0]["kind"], "archive");
        assert!(
            !lines.iter().any(|line| line.contains("early")),
            "{lines:?}"
        );
    }
    // One compression of an entry is taken off as well, and so is that of a file alone.
    for pack in [gzip, xz, zstandard] {
        let entry = Files::from([("a".to_owned(), pack(POD.as_bytes()))]);
        assert_eq!(answer(&tar(&entry)).0["verdict"]["kind"], "Gated");
        let (answer, _) = answer(&pack(POD.as_bytes()));
        assert_eq!(answer["sources"][0]["kind"], "file");
    }
}

#[test]
fn an_archive_may_come_through_a_pipe() {
    for bytes in [gzip(&tar(&one_pod())), zip(&one_pod())] {
        let mut child = command(
            env!("CARGO_BIN_EXE_kubectl-nominate"),
            &["explain", "a", "-n", "shop", "--from", "-"],
        )
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it was built");
        let mut pipe = child.stdin.take().expect("it is piped");
        pipe.write_all(&bytes).expect("it reads");
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("Gated"), "{text}");
    }
}

#[test]
fn entries_that_lead_out_or_are_no_files_are_refused_by_name() {
    let mut builder = tar::Builder::new(Vec::new());
    append(&mut builder, "pod.json", POD.as_bytes());
    let evil = POD.replace("\"a\"", "\"evil\"");
    for name in ["../up.json", "/etc/abs.json", "x/../../y.json"] {
        hostile(
            &mut builder,
            name.as_bytes(),
            tar::EntryType::Regular,
            evil.as_bytes(),
        );
    }
    hostile(
        &mut builder,
        b"no\xfftext.json",
        tar::EntryType::Regular,
        evil.as_bytes(),
    );
    for (name, kind) in [
        ("hard", tar::EntryType::Link),
        ("soft", tar::EntryType::Symlink),
        ("device", tar::EntryType::Char),
        ("pipe", tar::EntryType::Fifo),
        ("sparse", tar::EntryType::GNUSparse),
    ] {
        hostile(&mut builder, name.as_bytes(), kind, b"");
    }
    append(&mut builder, "twice.json", evil.as_bytes());
    append(&mut builder, "./twice.json", evil.as_bytes());
    let bytes = builder.into_inner().expect("memory takes it");
    let (answer, lines) = answer(&bytes);
    assert_eq!(answer["verdict"]["kind"], "Gated");
    says(&lines, "Unreadable", "the name leads out of the archive: ");
    says(&lines, "Unreadable", "../up.json");
    says(&lines, "Unreadable", "/etc/abs.json");
    says(&lines, "Unreadable", "the name is not UTF-8");
    says(&lines, "Unreadable", "device, hard, pipe, soft, sparse");
    says(
        &lines,
        "Unreadable twice.json",
        "several entries have this name",
    );
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("x"), &bytes).expect("a file");
    let path = folder.path().join("x").display().to_string();
    let run = nominate(&["explain", "evil", "-n", "shop", "--from", &path]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stderr.contains("\"evil\" not found"), "{}", run.stderr);
}

#[test]
fn a_zip_is_no_safer() {
    let evil = POD.replace("\"a\"", "\"evil\"");
    let (answer, lines) = answer(&zip_of(&[
        ("a.json", POD.as_bytes()),
        ("../up.json", evil.as_bytes()),
        ("twice.json", evil.as_bytes()),
        ("twice.json", evil.as_bytes()),
    ]));
    assert_eq!(answer["verdict"]["kind"], "Gated");
    says(&lines, "Unreadable ../up.json", "the name leads out");
    says(&lines, "Unreadable twice.json", "several entries");
}

/// A run that has to end soon, in little memory.
#[track_caller]
fn bounded(bytes: &[u8]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bomb");
    fs::write(&path, bytes).expect("the folder takes a file");
    let path = path.display().to_string();
    let started = Instant::now();
    let run = nominate(&["explain", "a", "-n", "shop", "--from", &path, "-o", "json"]);
    let took = started.elapsed();
    assert!(took < Duration::from_mins(1), "it took {took:?}");
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    (run.code, format!("{}{}", run.stdout, run.stderr))
}

/// One letter beyond any memory, as the compression packs it.
fn letters(gigabytes: u64, mut encoder: impl Write) {
    let block = vec![b'x'; 1 << 20];
    for _ in 0..gigabytes * 1024 {
        encoder.write_all(&block).expect("memory takes it");
    }
}

#[test]
fn bombs_end_at_the_budget_and_the_rest_is_used() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("the level is known");
    letters(2, &mut encoder);
    let bomb = encoder.finish().expect("memory takes it");
    let (code, text) = bounded(&bomb);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("more than 400 times its size"), "{text}");

    let files = [("a.json", POD.as_bytes()), ("bomb", bomb.as_slice())];
    let entries = files.map(|(name, content)| (name.to_owned(), content.to_vec()));
    let (code, text) = bounded(&tar(&Files::from(entries)));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\"Gated\""), "{text}");

    let (code, text) = bounded(&zip_of(&files));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\"Gated\""), "{text}");

    // An entry that is one itself, behind one that is not.
    let mut header = tar::Header::new_gnu();
    header.set_path("bomb").expect("a name");
    header.set_size(1 << 30);
    header.set_cksum();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("the level is known");
    let first = tar(&one_pod());
    let without_end = first.len() - 1024;
    encoder
        .write_all(&first[..without_end])
        .expect("memory takes it");
    encoder
        .write_all(header.as_bytes())
        .expect("memory takes it");
    letters(1, &mut encoder);
    let (code, text) = bounded(&encoder.finish().expect("memory takes it"));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("more than 400 times its size"), "{text}");
    assert!(text.contains("inside bomb"), "{text}");
}

#[test]
fn an_archive_of_too_many_entries_is_read_up_to_the_bound() {
    let mut builder = tar::Builder::new(Vec::new());
    // Of a layout, so that the others need not be opened.
    append(
        &mut builder,
        "namespaces/shop/core/pods.json",
        POD.as_bytes(),
    );
    let mut bytes = builder.into_inner().expect("memory takes it");
    bytes.truncate(bytes.len() - 1024);
    // Half a gigabyte: what packs it is compiled C, even where this is not.
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory takes it");
    encoder.write_all(&bytes).expect("memory takes it");
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    let [mut name, zeros] = [*b"0000000", *b"0000000"];
    header.as_old_mut().name[..7].copy_from_slice(&zeros);
    header.set_cksum();
    let sum_of_zeros = header.cksum().expect("it was set");
    let mut block = *header.as_bytes();
    for number in 0..250_000_u32 {
        let mut rest = number;
        let mut sum = sum_of_zeros;
        for digit in name.iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).expect("a digit");
            sum += rest % 10;
            rest /= 10;
        }
        block[..7].copy_from_slice(&name);
        block[148..155].copy_from_slice(format!("{sum:07o}").as_bytes());
        encoder.write_all(&block).expect("memory takes it");
    }
    let (code, text) = bounded(&encoder.finish().expect("memory takes it"));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("more than 200000 entries"), "{text}");
}

#[test]
fn aliases_of_yaml_do_not_multiply() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        bomb = format!("{bomb}a{level}: &a{level} [{before}]\n");
    }
    let bomb = format!("kind: Pod\n{bomb}");
    let (code, text) = bounded(bomb.as_bytes());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("it is not valid YAML"), "{text}");
}

#[test]
fn a_list_in_yaml_may_be_long() {
    let pods: Vec<String> = (0..20_000)
        .map(|number| format!("- metadata: {{name: p{number}, namespace: shop, uid: u{number}, labels: {{a: b, c: d}}}}"))
        .collect();
    let asked =
        "- metadata: {name: a, namespace: shop, uid: x}\n  spec: {schedulingGates: [{name: g}]}\n";
    let pods = pods.join("\n");
    let list = format!("apiVersion: v1\nkind: PodList\nitems:\n{pods}\n{asked}");
    let (answer, _) = answer(list.as_bytes());
    assert_eq!(answer["verdict"]["kind"], "Gated");
}

#[test]
fn what_came_before_a_cut_is_used_and_the_cut_is_said() {
    // Names that hardly compress, so that a cut of the packed bytes is one of the events.
    let events: Vec<String> = (1..20_000_u64)
        .map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .map(|name| format!(r#"{{"metadata":{{"name":"{name:x}"}}}}"#))
        .collect();
    let last = format!(
        r#"{{"kind":"EventList","apiVersion":"v1","items":[{}]}}"#,
        events.join(",")
    );
    let files = Files::from([
        ("a/pod.json".to_owned(), POD.as_bytes().to_vec()),
        ("b/events.json".to_owned(), last.into_bytes()),
    ]);
    let whole = tar(&files);
    // Inside the last entry, at the end of it, and at the end mark.
    for cut in [2048, whole.len() / 2, whole.len() - 1024] {
        let (answer, lines) = answer(&whole[..cut]);
        assert_eq!(answer["verdict"]["kind"], "Gated", "{cut}");
        says(&lines, "Partial", "the archive ends early");
        says(&lines, "Partial", "what came before is used");
    }
    for pack in [gzip, xz, zstandard] {
        let packed = pack(&whole);
        let (answer, lines) = answer(&packed[..packed.len() / 2]);
        assert_eq!(answer["verdict"]["kind"], "Gated");
        says(
            &lines,
            "Partial",
            "the archive ends early, inside b/events.json",
        );
    }
    // The table of a zip is at its end.
    let zip = zip(&files);
    refused(
        &zip[..zip.len() - 30],
        "its table of entries cannot be read",
    );
}

#[test]
fn archives_of_nothing_say_what_they_hold() {
    refused(&tar(&Files::new()), "it has no files");
    refused(&gzip(&tar(&Files::new())), "it has no files");
    refused(&zip(&Files::new()), "it has no files");
    let notes = Files::from([("notes.txt".to_owned(), b"dear diary".to_vec())]);
    refused(
        &gzip(&tar(&notes)),
        "none of its 1 files has Pods, Nodes or Events in YAML or JSON: notes.txt",
    );
}

#[test]
fn a_folder_without_the_right_to_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), POD).expect("a file");
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).expect("a folder");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o0)).expect("it is ours");
    // Root reads all the same.
    let is_locked = fs::read_dir(&locked).is_err();
    let path = folder.path().display().to_string();
    let run = nominate(&["explain", "a", "-n", "shop", "--from", &path, "-o", "json"]);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).expect("it is ours");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        !is_locked || run.stdout.contains("Permission denied"),
        "{}",
        run.stdout
    );
}
