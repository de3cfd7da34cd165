"""Catalogue entries with bags, with several labels per row, or with texts."""

from __future__ import annotations

from likewise.datasets._entry import Entry

COLLECTIONS: tuple[Entry, ...] = (
    Entry(
        name="hja_birdsong",
        n_rows=4998,
        n_columns=38,
        n_classes=13,
        kind="bags",
        n_bags=548,
        files=(
            ("hja_birdsong.csv.gz", "2ffb1688f682defb1e0032a8d089d2048356a40465100889c06c416b14b2c018"),
            ("hja_birdsong.bags.csv", "0c7a004d53cb9dc6abc377ea0444e0436eef161c6f00ca8b98c42d407ee55427"),
            (
                "hja_birdsong_unlabelled.csv.gz",
                "c65b36f25ce6fca75fc60a67fe3e6a04d5ab5380f569a788db9aa7657ef184da",
            ),
        ),
        source="HJA Birdsong",
        citation=(
            "F. Briggs, X. Z. Fern, R. Raich (2012). Rank-loss support instance machines for MIML "
            "instance annotation. KDD."
        ),
        licence="research use",
        class_names=(
            "BRCR",
            "WIWR",
            "PSFL",
            "RBNU",
            "DEJU",
            "OSFL",
            "HETH",
            "CBCH",
            "VATH",
            "HEWA",
            "SWTH",
            "HAFL",
            "WETA",
        ),
        note=(
            "Rows without a label are in X_unlabelled and bags_unlabelled. The labels of a bag are "
            "the union of the labels of its rows."
        ),
    ),
    Entry(
        name="msrcv2",
        n_rows=1758,
        n_columns=48,
        n_classes=23,
        kind="bags",
        n_bags=591,
        files=(
            ("msrcv2.csv.gz", "b570d2eca6ce5c12040a80398fcf1e8895d144c8c486c9f26e5a76c8c46849ec"),
            ("msrcv2.bags.csv", "7e10082ad2d0bfd5465bc7bd5dd04bc151f2d6c36c4baa7f3880bf23b84a2a68"),
        ),
        source="MSRC v2 region features (Briggs version)",
        citation=(
            "J. Winn, A. Criminisi, T. Minka (2005). Object categorization by learned universal "
            "visual dictionary. ICCV. Region features: F. Briggs, X. Z. Fern, R. Raich (2012). KDD."
        ),
        licence="non-commercial research",
        note="Classes are numbers; the file does not name them.",
    ),
    Entry(
        name="letter_carroll",
        n_rows=717,
        n_columns=16,
        n_classes=24,
        kind="bags",
        n_bags=166,
        files=(
            ("letter_carroll.csv.gz", "aebca6cd2d91787db7990a757c36dbeb994d57026973a46dc077c702d8ebff1f"),
            ("letter_carroll.bags.csv", "4fce51127d113e0b3ce99de7dccdeab9e2036f5a4143758d84edbc04fb1d65c7"),
        ),
        source="Letter-Carroll: words of Jabberwocky spelled with UCI Letter instances",
        citation=(
            "F. Briggs, X. Z. Fern, R. Raich (2012). Rank-loss support instance machines for MIML "
            "instance annotation. KDD."
        ),
        licence="derived from UCI Letter Recognition, CC BY 4.0",
        note="The words of Jabberwocky, spelled with rows of `letter`; 24 of the 26 letters occur.",
    ),
    Entry(
        name="church_fun",
        n_rows=3755,
        n_columns=31,
        n_classes=499,
        kind="multilabel",
        files=(
            ("church_fun.npz", "d792a6958689efd03747a1edb144c13bbf6f131d80d9c6a2936973948cd55a89"),
            ("church_fun.hierarchy.csv", "72161eb1695f9ccfe2365a5d58649cc142643ef55faf4167014f67fa4727ebb6"),
        ),
        source="Yeast church_FUN (Clus HMC collection)",
        citation=(
            "C. Vens, J. Struyf, L. Schietgat, S. Dzeroski, H. Blockeel (2008). Decision trees for "
            "hierarchical multi-label classification. Machine Learning."
        ),
        licence="none stated",
        note="NaN marks a missing value. The one nominal attribute is one-hot coded.",
    ),
    Entry(
        name="cellcycle_fun",
        n_rows=3757,
        n_columns=77,
        n_classes=499,
        kind="multilabel",
        files=(
            ("cellcycle_fun.npz", "c8e9336ef46d20d0b887004716a13db84473e132d7ef2da2e0fc74dc6ad53867"),
            (
                "cellcycle_fun.hierarchy.csv",
                "72161eb1695f9ccfe2365a5d58649cc142643ef55faf4167014f67fa4727ebb6",
            ),
        ),
        source="Yeast cellcycle_FUN (Clus HMC collection)",
        citation=(
            "C. Vens, J. Struyf, L. Schietgat, S. Dzeroski, H. Blockeel (2008). Decision trees for "
            "hierarchical multi-label classification. Machine Learning."
        ),
        licence="none stated",
        note="NaN marks a missing value.",
    ),
    Entry(
        name="diatoms",
        n_rows=3119,
        n_columns=371,
        n_classes=398,
        kind="multilabel",
        files=(
            ("diatoms.npz", "2b2ff140b657fab4fa29402cddcf6cd4ac7b9c27398400975939a5bd6f48d8eb"),
            ("diatoms.hierarchy.csv", "0948c869342a28718f60591e44a5969f256fb7a5d09e70a018216b1a85a686f3"),
        ),
        source="Diatoms images, HMC",
        citation=(
            "I. Dimitrovski, D. Kocev, S. Loskovska, S. Dzeroski (2012). Hierarchical classification "
            "of diatom images using ensembles of predictive clustering trees. Ecological Informatics."
        ),
        licence="none stated",
    ),
    Entry(
        name="emotions",
        n_rows=593,
        n_columns=72,
        n_classes=6,
        kind="multilabel",
        files=(("emotions.npz", "6b25d3c02e59a6968a7bee417b9ae704165328ced3218d1f2811edcb8a2e09cb"),),
        source="Emotions (Mulan)",
        citation=(
            "K. Trohidis, G. Tsoumakas, G. Kalliris, I. Vlahavas (2008). Multi-label classification "
            "of music into emotions. ISMIR."
        ),
        licence="none stated",
    ),
    Entry(
        name="yeast",
        n_rows=2417,
        n_columns=103,
        n_classes=14,
        kind="multilabel",
        files=(("yeast.npz", "1ca647c5c5f6782b5878db7e5d4d1fdf8c50399857bbd463ab2ab188cff3d7f6"),),
        source="Yeast (Mulan)",
        citation=("A. Elisseeff, J. Weston (2001). A kernel method for multi-labelled classification. NIPS."),
        licence="none stated",
    ),
    Entry(
        name="scene",
        n_rows=2407,
        n_columns=294,
        n_classes=6,
        kind="multilabel",
        files=(("scene.npz", "e988388f36704e73096f2395181726829dfca4cfc17741698d33f902f8d551db"),),
        source="Scene (Mulan)",
        citation=(
            "M. R. Boutell, J. Luo, X. Shen, C. M. Brown (2004). Learning multi-label scene "
            "classification. Pattern Recognition."
        ),
        licence="none stated",
    ),
    Entry(
        name="voc2007_labels",
        n_rows=9963,
        n_columns=0,
        n_classes=20,
        kind="multilabel",
        files=(
            ("voc2007_labels.csv.gz", "03dc6c9bc9a82eb43d785f5aa8b10b127c06ce5a0f7ba802b7e3c36354c50594"),
            (
                "voc2007_labels.hierarchy.csv",
                "dacad2cb9e6bb5fc7cd43edbc78b7723d80fc3c14cc71b788a401b365d2e8bdb",
            ),
        ),
        source="PASCAL VOC 2007 image labels (trainval 5011 + test 4952)",
        citation=(
            "M. Everingham, L. Van Gool, C. K. I. Williams, J. Winn, A. Zisserman (2010). The PASCAL "
            "visual object classes (VOC) challenge. IJCV."
        ),
        licence="none stated",
        note="Labels only, no features: 1 present, 0 only difficult objects, -1 absent.",
    ),
    Entry(
        name="banking77",
        n_rows=13083,
        n_columns=0,
        n_classes=77,
        kind="text",
        files=(("banking77.csv.gz", "6fbcece7c935afff4770a491c37e7c079ecce60ae8fc1b37d456293e4a228c78"),),
        source="Banking77 (train 10003 + test 3080)",
        citation=(
            "I. Casanueva, T. Temčinas, D. Gerz, M. Henderson, I. Vulić (2020). Efficient intent "
            "detection with dual sentence encoders. NLP for ConvAI."
        ),
        licence="CC BY 4.0",
    ),
    Entry(
        name="clinc150",
        n_rows=22500,
        n_columns=0,
        n_classes=150,
        kind="text",
        files=(
            ("clinc150.csv.gz", "635e5f87846dbad8126a762074b208123a08912aff6739f505abe11f8af2b5f0"),
            ("clinc150.hierarchy.csv", "d26f967f1613dfa44541f3bb540c268146ca5e07abeec90e54d5c149d52e4e37"),
        ),
        source="CLINC150 in-scope queries",
        citation=(
            "S. Larson et al. (2019). An evaluation dataset for intent classification and "
            "out-of-scope prediction. EMNLP."
        ),
        licence="CC BY 3.0",
        note="The out-of-scope part is left out.",
    ),
)
