"""Catalogue entries with one class per row."""

from __future__ import annotations

from likewise.datasets._entry import Entry

TABLES: tuple[Entry, ...] = (
    Entry(
        name="ionosphere",
        n_rows=351,
        n_columns=34,
        n_classes=2,
        files=(("ionosphere.csv.gz", "51b1384982da8ff7a1c960b6d0c393ff15703a16aa280c6f6ca9df57c0dd8050"),),
        source="UCI Ionosphere",
        citation=(
            "V. Sigillito, S. Wing, L. Hutton, K. Baker (1989). Ionosphere. UCI Machine Learning Repository."
        ),
        licence="CC BY 4.0",
        openml_id=59,
    ),
    Entry(
        name="pima",
        n_rows=768,
        n_columns=8,
        n_classes=2,
        files=(("pima.csv.gz", "cf2629d36d2a46c663c8d7c1b82006a6728e8c414b723234ec6c7a655da433b1"),),
        source="Pima Indians Diabetes (NIDDK, formerly UCI)",
        citation=(
            "J. W. Smith, J. E. Everhart, W. C. Dickson, W. C. Knowler, R. S. Johannes (1988). Using "
            "the ADAP learning algorithm to forecast the onset of diabetes mellitus. Symposium on "
            "Computer Applications in Medical Care."
        ),
        licence="none stated",
        openml_id=37,
        note="Zeros in some columns stand for missing values, as in the original file.",
    ),
    Entry(
        name="balance_scale",
        n_rows=625,
        n_columns=4,
        n_classes=3,
        files=(("balance_scale.csv.gz", "a1c0dc54e260d92a6be10992e43515e6c537af23d2d82c1f1bcc46d22ba662d5"),),
        source="UCI Balance Scale",
        citation="R. Siegler (1994). Balance Scale. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        openml_id=11,
    ),
    Entry(
        name="letter",
        n_rows=20000,
        n_columns=16,
        n_classes=26,
        files=(("letter.csv.gz", "f75cad4a60df9a473aa9912918aec8a413e61b00b67a6eead9acb58603f1d78a"),),
        source="UCI Letter Recognition",
        citation="D. Slate (1991). Letter Recognition. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        openml_id=6,
    ),
    Entry(
        name="letters_ij",
        n_rows=1502,
        n_columns=16,
        n_classes=2,
        files=(("letters_ij.csv.gz", "e292e308f1ebc2e6f2652af6ceaf12632a1f0549e7ad5dcec86b672c47b6ef29"),),
        source="UCI Letter Recognition, classes I,J",
        citation="D. Slate (1991). Letter Recognition. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        parent="letter",
        keep=("I", "J"),
    ),
    Entry(
        name="letters_ijl",
        n_rows=2263,
        n_columns=16,
        n_classes=3,
        files=(("letters_ijl.csv.gz", "948537b23ee6ef5004c9d577ceb807c37103cf7a0e5eba0ca9003c1fa022267d"),),
        source="UCI Letter Recognition, classes I,J,L",
        citation="D. Slate (1991). Letter Recognition. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        parent="letter",
        keep=("I", "J", "L"),
    ),
    Entry(
        name="letters_ijlt",
        n_rows=3059,
        n_columns=16,
        n_classes=4,
        files=(("letters_ijlt.csv.gz", "713b04883b0749d6e2f3987d408005d61d7274643a509b72140d481c77e66631"),),
        source="UCI Letter Recognition, classes I,J,L,T",
        citation="D. Slate (1991). Letter Recognition. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        parent="letter",
        keep=("I", "J", "L", "T"),
    ),
    Entry(
        name="pendigits",
        n_rows=10992,
        n_columns=16,
        n_classes=10,
        files=(("pendigits.csv.gz", "dc0caee277ef0d40f8d0d46e7c359721146b7694efc35db8543403995bd1cd05"),),
        source="UCI Pen-Based Digits",
        citation=(
            "E. Alpaydin, F. Alimoglu (1998). Pen-Based Recognition of Handwritten Digits. UCI "
            "Machine Learning Repository."
        ),
        licence="CC BY 4.0",
        openml_id=32,
        note="The 7494 training rows come first, then the 3498 test rows.",
    ),
    Entry(
        name="digits389",
        n_rows=3165,
        n_columns=16,
        n_classes=3,
        files=(("digits389.csv.gz", "879d3c8e992df043a19fd39a3c3b42477e3b5ad4d5ab232bc0888ae06b97b976"),),
        source="UCI Pen-Based Digits, classes 3,8,9 (train+test)",
        citation=(
            "E. Alpaydin, F. Alimoglu (1998). Pen-Based Recognition of Handwritten Digits. UCI "
            "Machine Learning Repository."
        ),
        licence="CC BY 4.0",
        parent="pendigits",
        keep=("3", "8", "9"),
    ),
    Entry(
        name="fertility",
        n_rows=100,
        n_columns=9,
        n_classes=2,
        files=(("fertility.csv.gz", "50f3ee9639da459ecf79be0940ae0739efedd00fcdf8909c636490adbd1d5e31"),),
        source="UCI Fertility",
        citation="D. Gil, J. Girela (2013). Fertility. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        openml_id=1473,
        note="N normal, O altered.",
    ),
    Entry(
        name="sonar",
        n_rows=208,
        n_columns=60,
        n_classes=2,
        files=(("sonar.csv.gz", "e648a78c268debd739b9ffb46db7d42cd9651ed2904d64dbaed106f7899f2df5"),),
        source="UCI Connectionist Bench (Sonar)",
        citation=(
            "T. Sejnowski, R. Gorman (1988). Connectionist Bench (Sonar, Mines vs. Rocks). UCI "
            "Machine Learning Repository."
        ),
        licence="CC BY 4.0",
        openml_id=40,
    ),
    Entry(
        name="transfusion",
        n_rows=748,
        n_columns=4,
        n_classes=2,
        files=(("transfusion.csv.gz", "3f32737d7ea1ab6ad0e8fcf911a3d5a3fa6c3705ca58972d0ca1144195cc8424"),),
        source="UCI Blood Transfusion Service Center",
        citation=(
            "I.-C. Yeh, K.-J. Yang, T.-M. Ting (2009). Knowledge discovery on RFM model using "
            "Bernoulli sequence. Expert Systems with Applications."
        ),
        licence="CC BY 4.0",
        openml_id=1464,
        note="1: donated blood in March 2007.",
    ),
    Entry(
        name="wine",
        n_rows=178,
        n_columns=13,
        n_classes=3,
        files=(("wine.csv.gz", "f973cbb43753a2576b3afdad9cd52f66a7d70d52b0cac4b3add6da2c9c94bec1"),),
        source="UCI Wine",
        citation="S. Aeberhard, M. Forina (1991). Wine. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        sklearn_copy="wine",
    ),
    Entry(
        name="iris",
        n_rows=150,
        n_columns=4,
        n_classes=3,
        files=(("iris.csv.gz", "4e9747d973d8298c0229b991a854424a787614477079d8b6c52b740060f160f0"),),
        source="Fisher Iris",
        citation=(
            "R. A. Fisher (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics."
        ),
        licence="CC BY 4.0",
        sklearn_copy="iris",
    ),
    Entry(
        name="protein",
        n_rows=116,
        n_columns=20,
        n_classes=6,
        files=(("protein.csv.gz", "d865a040aabd962c2d73d4fb9e1f4a4f5ddaec4690bbd43e8aa6b859e7a14819"),),
        source="Protein data of Xing et al. 2002 (amino-acid composition)",
        citation=(
            "E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell (2002). Distance metric learning with "
            "application to clustering with side-information. NIPS."
        ),
        licence="none stated",
    ),
    Entry(
        name="semeion",
        n_rows=1593,
        n_columns=256,
        n_classes=10,
        files=(("semeion.csv.gz", "570ca75ce4ce61189ffa1add5bb93f1af78ac1d09043195c46701aaa4fc4ef04"),),
        source="UCI Semeion Handwritten Digit",
        citation=(
            "Semeion Research Center, Rome (1994). Semeion Handwritten Digit. UCI Machine Learning "
            "Repository."
        ),
        licence="CC BY 4.0",
        openml_id=1501,
    ),
    Entry(
        name="mfeat",
        n_rows=2000,
        n_columns=649,
        n_classes=10,
        files=(("mfeat.npz", "f2db85b61e5dbe86c455a7f4c731c6994562bf41a8802586a917b19d15db5863"),),
        source=(
            "UCI Multiple Features: Fourier, profile, Karhunen-Loève, pixel, Zernike and "
            "morphological columns"
        ),
        citation="R. Duin (1998). Multiple Features. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        note="`views` names the block of each column.",
    ),
    Entry(
        name="cho",
        n_rows=386,
        n_columns=16,
        n_classes=5,
        files=(("cho.csv.gz", "9ba81684b49d0e28a785413efe4182108e4ea2621333368af0c9614f5d8eb483"),),
        source="Yeast cell-cycle genes of Cho et al. 1998, log ratios, 5 phases",
        citation=(
            "R. J. Cho et al. (1998). A genome-wide transcriptional analysis of the mitotic cell "
            "cycle. Molecular Cell."
        ),
        licence="none stated",
    ),
    Entry(
        name="mnist_test",
        n_rows=10000,
        n_columns=784,
        n_classes=10,
        files=(("mnist_test.npz", "96ec6a9c413a1e20a45398cb23275e33c439c12ee65564d4b8ff0a0ef4d64f14"),),
        source="MNIST test set (28x28, uint8)",
        citation=(
            "Y. LeCun, L. Bottou, Y. Bengio, P. Haffner (1998). Gradient-based learning applied to "
            "document recognition. Proceedings of the IEEE."
        ),
        licence="none stated",
        openml_id=554,
    ),
    Entry(
        name="coil20",
        n_rows=1440,
        n_columns=1024,
        n_classes=20,
        files=(("coil20.npz", "be0aea8f6b8352e2c7a332a88901e2d2092ff480991d740d553a1986dd97c2c8"),),
        source="COIL-20 (processed), 32x32 grey, float32 in [0,1]",
        citation=(
            "S. A. Nene, S. K. Nayar, H. Murase (1996). Columbia Object Image Library (COIL-20). "
            "Technical report CUCS-005-96."
        ),
        licence="research use",
    ),
    Entry(
        name="digits",
        n_rows=1797,
        n_columns=64,
        n_classes=10,
        files=(("digits.npz", "dff739c317c3d7a561cd1d11ae22ab4ac7f0557489c9e3935e97bec510d05737"),),
        source="UCI Optical Digits test part (8x8, 0..16), as in scikit-learn",
        citation=(
            "E. Alpaydin, C. Kaynak (1998). Optical Recognition of Handwritten Digits. UCI Machine "
            "Learning Repository."
        ),
        licence="CC BY 4.0",
        sklearn_copy="digits",
    ),
    Entry(
        name="wdbc",
        n_rows=569,
        n_columns=30,
        n_classes=2,
        files=(("wdbc.csv.gz", "9d2d7a2873bfffb80f07b96d023ad24276fb4cef679976cf58d16289fd369889"),),
        source="UCI Breast Cancer Wisconsin (Diagnostic)",
        citation=(
            "W. Wolberg, O. Mangasarian, N. Street, W. Street (1995). Breast Cancer Wisconsin "
            "(Diagnostic). UCI Machine Learning Repository."
        ),
        licence="CC BY 4.0",
        sklearn_copy="breast_cancer",
        aliases=("breast_cancer",),
    ),
    Entry(
        name="wisconsin",
        n_rows=683,
        n_columns=9,
        n_classes=2,
        files=(("wisconsin.csv.gz", "8241a4e31cea85b3c31132265802ec0061372b896f29450a1fddb77d12683c39"),),
        source="UCI Breast Cancer Wisconsin (Original)",
        citation=("W. Wolberg (1992). Breast Cancer Wisconsin (Original). UCI Machine Learning Repository."),
        licence="CC BY 4.0",
        openml_id=15,
        note="The 16 rows with missing values are dropped.",
    ),
    Entry(
        name="ecoli",
        n_rows=336,
        n_columns=7,
        n_classes=8,
        files=(("ecoli.csv.gz", "f5c60e88d20f07ec239dcac404f2b14ac3733e19d744ff5e492616ee82755487"),),
        source="UCI Ecoli",
        citation="K. Nakai (1996). Ecoli. UCI Machine Learning Repository.",
        licence="CC BY 4.0",
        openml_id=39,
    ),
    Entry(
        name="segment",
        n_rows=2310,
        n_columns=18,
        n_classes=7,
        files=(("segment.csv.gz", "5ae908110b7cc739a5d51bb7ef7a3c07398dc54a13467bd26fbc8befc1c64d24"),),
        source="UCI Image Segmentation",
        citation=(
            "Vision Group, University of Massachusetts (1990). Image Segmentation. UCI Machine Learning "
            "Repository."
        ),
        licence="CC BY 4.0",
        openml_id=36,
        note="The constant column is dropped.",
    ),
    Entry(
        name="vowel",
        n_rows=990,
        n_columns=10,
        n_classes=11,
        files=(("vowel.csv.gz", "c0b2f6bf0e8a3ac20fecf2a4f159b51f67e9d6aad9daf99d181a7d6d7023c638"),),
        source="UCI Connectionist Bench (Vowel)",
        citation=(
            "D. Deterding, M. Niranjan, T. Robinson. Connectionist Bench (Vowel Recognition). UCI "
            "Machine Learning Repository."
        ),
        licence="CC BY 4.0",
        openml_id=307,
        note="The columns for split, speaker and sex are dropped.",
    ),
    Entry(
        name="20news_w100",
        n_rows=16242,
        n_columns=100,
        n_classes=4,
        files=(("20news_w100.npz", "1c853a6c6ee8c8c75a06a556d7bad6ed8e42b8c328ce0b1bbc5214199b399a33"),),
        source="20 Newsgroups, 100 binary words, 4 top groups (S. Roweis version)",
        citation="K. Lang (1995). NewsWeeder: learning to filter netnews. ICML.",
        licence="public",
    ),
    Entry(
        name="20news_w1000",
        n_rows=18745,
        n_columns=1000,
        n_classes=20,
        files=(
            ("20news_w1000.npz", "6644d1284028a52b84b55431d8b1a3ecef89298c9f32fb4a49106a3fb326e804"),
            (
                "20news_w1000.hierarchy.csv",
                "701cc407aba7eadbbc22ba888435e43156d3ba237171347215e7e3873e6211a7",
            ),
        ),
        source="20 Newsgroups by date, 1000 stemmed words (B. Marlin version)",
        citation="K. Lang (1995). NewsWeeder: learning to filter netnews. ICML.",
        licence="public",
        note="X is sparse. `Y` and `hierarchy` contain the tree of the group names.",
    ),
)
