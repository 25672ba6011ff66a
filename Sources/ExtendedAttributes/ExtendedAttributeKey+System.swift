public import Foundation

/// Attributes that Apple's systems keep, in the form in which their tools read and write them.
///
/// On Linux nothing acts on them, but they travel: with `rsync -X`, `tar --xattrs`, a USB stick.
extension ExtendedAttributeKey {
  /// An item of the metadata that Spotlight indexes: the attribute
  /// `com.apple.metadata:kMDItemKeywords` for `"kMDItemKeywords"`, kept as a binary property list.
  ///
  /// - Parameter item: The name of the item, `kMDItem...` or `_kMDItem...`.
  public static func metadata(_ item: String) -> Self {
    Self(ExtendedAttributeName("com.apple.metadata:" + item), as: .propertyListObject)
  }
}

extension ExtendedAttributeKey where Value == [String] {
  /// Where a download came from: its URL and that of the page with the link (`kMDItemWhereFroms`).
  public static var whereFroms: Self { .metadata("kMDItemWhereFroms") }
  /// Words to find the file by (`kMDItemKeywords`).
  public static var keywords: Self { .metadata("kMDItemKeywords") }
  /// Who made the contents (`kMDItemAuthors`).
  public static var authors: Self { .metadata("kMDItemAuthors") }
  /// The Finder's tags, each with its colour after a line break (`_kMDItemUserTags`).
  public static var userTags: Self { .metadata("_kMDItemUserTags") }
}

extension ExtendedAttributeKey where Value == [Date] {
  /// When the file was downloaded, a list of one date (`kMDItemDownloadedDate`).
  public static var downloadedDate: Self { .metadata("kMDItemDownloadedDate") }
}

extension ExtendedAttributeKey where Value == String {
  /// The program that made the contents (`kMDItemCreator`).
  public static var creator: Self { .metadata("kMDItemCreator") }
  /// The title of the contents (`kMDItemTitle`).
  public static var title: Self { .metadata("kMDItemTitle") }
  /// What the contents are about (`kMDItemSubject`).
  public static var subject: Self { .metadata("kMDItemSubject") }
  /// An abstract of the contents (`kMDItemDescription`).
  public static var itemDescription: Self { .metadata("kMDItemDescription") }
  /// The headline of the contents (`kMDItemHeadline`).
  public static var headline: Self { .metadata("kMDItemHeadline") }
  /// How the contents are to be treated (`kMDItemInstructions`).
  public static var instructions: Self { .metadata("kMDItemInstructions") }
  /// Who owns the contents (`kMDItemCopyright`).
  public static var copyright: Self { .metadata("kMDItemCopyright") }
  /// The name to show for the file (`kMDItemDisplayName`).
  public static var displayName: Self { .metadata("kMDItemDisplayName") }
  /// The text of the contents, for searching (`kMDItemTextContent`).
  public static var textContent: Self { .metadata("kMDItemTextContent") }
  /// The Finder's comment (`kMDItemFinderComment`).
  public static var finderComment: Self { .metadata("kMDItemFinderComment") }
  /// Which program downloaded the file and when; text (`com.apple.quarantine`).
  public static var quarantine: Self { Self("com.apple.quarantine", as: .text) }
  /// The encoding of a text file: its name, `;`, its number; text (`com.apple.TextEncoding`).
  public static var textEncoding: Self { Self("com.apple.TextEncoding", as: .text) }
}

extension ExtendedAttributeKey where Value == Int {
  /// Stars from 0 to 5 (`kMDItemStarRating`).
  public static var starRating: Self { .metadata("kMDItemStarRating") }
}

extension ExtendedAttributeKey where Value == Bool {
  /// Whether the file is a picture of the screen (`kMDItemIsScreenCapture`).
  public static var isScreenCapture: Self { .metadata("kMDItemIsScreenCapture") }
  /// Whether System Integrity Protection guards the file (`com.apple.rootless`).
  public static var isProtected: Self { Self("com.apple.rootless", as: .propertyListObject) }
}

extension ExtendedAttributeKey where Value == Date {
  /// When the file was last used (`kMDItemLastUsedDate`).
  public static var lastUsedMetadata: Self { .metadata("kMDItemLastUsedDate") }
}

extension ExtendedAttributeKey where Value == Data {
  /// The Finder's type, creator, flags and place: 32 bytes (`com.apple.FinderInfo`).
  public static var finderInfo: Self { Self("com.apple.FinderInfo", as: .data) }
  /// The resource fork (`com.apple.ResourceFork`); on Linux at most 65 536 bytes.
  public static var resourceFork: Self { Self("com.apple.ResourceFork", as: .data) }
  /// When the file was last used: a `timespec` (`com.apple.lastuseddate#PS`).
  public static var lastUsedDate: Self { Self("com.apple.lastuseddate#PS", as: .data) }
}
