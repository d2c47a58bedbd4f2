import { ReferenceReflection, ReflectionKind } from 'typedoc';
import { MarkdownTheme, MarkdownThemeContext, ModuleRouter } from 'typedoc-plugin-markdown';

/**
 * @import { Application, Comment, CommentDisplayPart } from 'typedoc'
 * @import { MarkdownPageEvent } from 'typedoc-plugin-markdown'
 */

/**
 * The layout of the pages, as a TypeDoc plugin: one flat folder, and no text that repeats the signature beside it. The
 * router and the theme are both called `everwire`.
 *
 * @param {Application} app
 */
export function load(app) {
  app.renderer.defineRouter('everwire', FaceRouter);
  app.renderer.defineTheme('everwire', FaceTheme);
}

/** The name of a page is what follows the slash in an import. */
class FaceRouter extends ModuleRouter {
  getIdealBaseName(reflection) {
    return reflection.kind === ReflectionKind.Module
      ? reflection.name.replace(/^[^/]*\//, '').replaceAll('/', '-')
      : super.getIdealBaseName(reflection);
  }
}

class FaceTheme extends MarkdownTheme {
  /** @param {MarkdownPageEvent} page */
  getRenderContext(page) {
    const context = new MarkdownThemeContext(this, page, this.application.options);
    Object.assign(context.partials, ownPartials(context));
    return context;
  }
}

/** @param {MarkdownThemeContext} context */
function ownPartials(context) {
  const { body, declarationTitle, indexSignature, members, signatureTitle, someType } = context.partials;

  const paragraphs = (...parts) => parts.filter(Boolean).join('\n\n');
  /** @param {readonly CommentDisplayPart[] | undefined} parts */
  const textOf = (parts) => (parts ? context.helpers.getCommentParts(parts).trim() : '');

  /** @param {Comment | undefined} about */
  function tags(about) {
    return paragraphs(
      ...(about?.blockTags ?? []).map(({ tag, content }) => {
        const name = tag.slice(1);
        return `**${name[0].toUpperCase()}${name.slice(1)}** ${textOf(content)}`;
      }),
    );
  }

  /** The descriptions of parameters, and of the members of those that are objects. */
  function described(parameters, prefix = '') {
    return parameters.flatMap(({ name, comment, type }) => {
      const text = textOf(comment?.summary);
      const own = text ? [`- \`${prefix}${name}\`: ${text}`] : [];
      return [...own, ...described(type?.declaration?.children ?? [], `${prefix}${name}.`)];
    });
  }

  /** What a class or an interface extends or implements. Empty if there is nothing. */
  function heritage(model) {
    const parameters = context.helpers.getTypeParameters(model.typeParameters);
    const line = [
      parameters && `**${model.name}**\\<${parameters}\\>`,
      ...[
        ['extends', model.extendedTypes],
        ['implements', model.implementedTypes],
      ].map(([word, types]) => types?.length && `*${word}* ${types.map((type) => someType(type)).join(', ')}`),
    ];
    return line.some(Boolean) && `> ${line.filter(Boolean).join(' ')}`;
  }

  return {
    // Where a member was first declared does not help a reader to use it.
    inheritance: () => '',

    comment(about, { showSummary = true, showTags = true, isTableColumn = false } = {}) {
      const text = paragraphs(showSummary && textOf(about.summary), showTags && tags(about));
      return isTableColumn ? text.replaceAll(/\n+/g, ' ') : text;
    },

    // The members of an object are listed below it.
    declarationTitle(model) {
      return model.kind === ReflectionKind.Variable && model.type?.declaration?.children
        ? `> \`const\` **${model.name}**`
        : declarationTitle(model);
    },

    memberWithGroups(model, { headingLevel }) {
      return paragraphs(
        model.kind === ReflectionKind.TypeAlias ? declarationTitle(model) : heritage(model),
        textOf(model.comment?.summary),
        tags(model.comment),
        ...(model.signatures ?? []).map((signature) => this.signature(signature, {})),
        ...(model.indexSignatures ?? []).map((signature) => `> ${indexSignature(signature, {})}`),
        body(model, { headingLevel }),
      );
    },

    // The signature has the types, and the description is beside it.
    signature(model, { accessor, hideTitle, multipleSignatures }) {
      const about = multipleSignatures ? model.comment : (model.comment ?? model.parent?.comment);
      return paragraphs(
        !hideTitle && signatureTitle(model, { accessor }),
        textOf(about?.summary),
        described([...(model.typeParameters ?? []), ...(model.parameters ?? [])]).join('\n'),
        tags(about),
      );
    },

    accessor({ getSignature, setSignature }) {
      return paragraphs(
        getSignature && this.signature(getSignature, { accessor: 'get' }),
        setSignature && this.signature(setSignature, { accessor: 'set' }),
      );
    },

    // An export that another entry point has too is listed, with a link to its description.
    members(model, options) {
      const isReference = (member) => member instanceof ReferenceReflection;
      return paragraphs(
        members(
          model.filter((member) => !isReference(member)),
          options,
        ),
        model
          .filter(isReference)
          .map((member) => `[\`${member.name}\`](${context.urlTo(member.getTargetReflectionDeep())})`)
          .join(', '),
      );
    },
  };
}
