//! Everything that the fuzz targets were given, and bytes at random: no decoder panics on any of it.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kube_placement::internals::ENTRIES;
use proptest::prelude::*;

use super::plugin::root;

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = folder.read_dir().expect("the folder is there").flatten();
    entries
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
        .collect()
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = root().join("fuzz/corpus").join(name);
    let files = folder.read_dir().expect("an entry has a corpus").flatten();
    files
        .map(|file| fs::read(file.path()).expect("a seed can be read"))
        .collect()
}

#[test]
fn each_entry_has_a_target_and_a_corpus() {
    let entries: BTreeSet<String> = ENTRIES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&root().join("fuzz/fuzz_targets")), entries);
    assert_eq!(names(&root().join("fuzz/corpus")), entries);
}

#[test]
fn every_seed_is_read_without_a_panic() {
    for (name, entry) in ENTRIES {
        let seeds = corpus(name);
        assert!(seeds.len() >= 3, "{name} has {} seeds", seeds.len());
        for seed in seeds {
            entry(&seed);
            // What is cut off in the middle is read as well.
            entry(seed.get(..seed.len() / 2).unwrap_or_default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for (_, entry) in ENTRIES {
            entry(&bytes);
        }
    }

    #[test]
    fn no_change_of_a_seed_makes_a_decoder_panic(at in any::<prop::sample::Index>(), by in any::<u8>(), which in any::<prop::sample::Index>()) {
        for (name, entry) in ENTRIES {
            let seeds = corpus(name);
            let mut seed = seeds[which.index(seeds.len())].clone();
            if !seed.is_empty() {
                let place = at.index(seed.len());
                seed[place] = by;
                entry(&seed);
            }
        }
    }
}
